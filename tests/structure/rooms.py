"""The list of rooms in docs/architecture.md. Run it to update what each room may include.

The text about a room is written by hand; the list of rooms that it may include comes from RULE in
include_rule_test.py.
"""

from __future__ import annotations

import re
import sys

import include_rule_test
import pages
import tree

PAGE = tree.ROOT / "docs/architecture.md"
# The list stands between these lines.
BEGIN = "<!-- rooms: `may include` is written by tests/structure/rooms.py -->"
END = "<!-- end of rooms -->"
ITEM = re.compile(r"- `(?P<room>[^`]+)/`: (?P<what>.*?)\.( May include .*\.)?$")


def may_include(room: str) -> str:
    others = sorted(include_rule_test.RULE[room], key=lambda other: (other == "base", other))
    return f" May include {', '.join(others)}." if others else " May include nothing."


def items_of(page: str) -> list[str]:
    """Returns the items of the list, each in one line."""
    part = page[page.index(BEGIN) + len(BEGIN) : page.index(END)]
    return [" ".join(item.split()) for item in re.split(r"\n(?=- )", part.strip())]


def written(page: str) -> str:
    """Returns the page with the rooms that each room may include by the rule."""
    lines = []
    for item in items_of(page):
        match = ITEM.match(item)
        if match is None or match["room"] not in include_rule_test.RULE:
            lines.append(item)
        else:
            room, what = match["room"], match["what"]
            lines.append(f"- `{room}/`: {what}.{may_include(room)}")
    head, tail = page[: page.index(BEGIN)], page[page.index(END) :]
    return f"{head}{BEGIN}\n\n{pages.wrap(chr(10).join(lines))}\n{tail}"


def main() -> int:
    PAGE.write_text(written(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
