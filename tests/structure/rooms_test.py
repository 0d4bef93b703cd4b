"""docs/contracts.md agrees with the include rule about each room."""

from __future__ import annotations

import rooms


def test_the_page_says_what_each_room_may_include() -> None:
    page = rooms.PAGE.read_text()
    assert rooms.written(page) == page, "run tests/structure/rooms.py"


def test_what_the_rule_says_is_written() -> None:
    page = f"Before\n\n{rooms.BEGIN}\n\n- `base/`: tracer\n\n{rooms.END}\n\nAfter\n"
    text = rooms.written(page)
    assert "- `base/`: nothing\n" in text
    assert f"- `tracer/`: {rooms.may_include('tracer')}\n" in text
    assert text.startswith("Before\n") and text.endswith("\nAfter\n")
    assert rooms.written(text) == text
