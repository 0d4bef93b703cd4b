"""docs/architecture.md agrees with the include rule about each room."""

from __future__ import annotations

import include_rule_test
import rooms


def test_the_page_says_what_each_room_may_include() -> None:
    page = rooms.PAGE.read_text()
    assert rooms.written(page) == page, "run tests/structure/rooms.py"
    matches = (rooms.ITEM.match(item) for item in rooms.items_of(page))
    named = {match["room"] for match in matches if match is not None}
    assert include_rule_test.RULE.keys() - named <= {"interpose"}


def test_what_the_rule_says_is_written() -> None:
    page = (
        f"Before\n\n{rooms.BEGIN}\n\n- `base/`: units. May include tracer.\n- `tracer/`: the\n"
        f"  recorder.\n- `tests/`: may include everything.\n\n{rooms.END}\n\nAfter\n"
    )
    text = rooms.written(page)
    assert "- `base/`: units. May include nothing.\n" in text
    assert f"- `tracer/`: the recorder.{rooms.may_include('tracer')}\n" in text
    assert "- `tests/`: may include everything.\n" in text
    assert text.startswith("Before\n") and text.endswith("\nAfter\n")
    assert rooms.written(text) == text
