"""Writes into docs/contracts.md which rooms each room may include.

Run it after a change of RULE in include_rule_test.py.
"""

from __future__ import annotations

import sys

import include_rule_test
import pages
import tree

PAGE = tree.ROOT / "docs/contracts.md"
# The list stands between these lines.
BEGIN = "<!-- includes: written by tests/structure/rooms.py -->"
END = "<!-- end of includes -->"


def may_include(room: str) -> str:
    others = sorted(include_rule_test.RULE[room], key=lambda other: (other == "base", other))
    return ", ".join(others) if others else "nothing"


def written(page: str) -> str:
    """Returns the page with the rooms that each room may include by the rule."""
    lines = "\n".join(f"- `{room}/`: {may_include(room)}" for room in include_rule_test.RULE)
    head, tail = page[: page.index(BEGIN)], page[page.index(END) :]
    return f"{head}{BEGIN}\n\n{pages.wrap(lines).rstrip()}\n\n{tail}"


def main() -> int:
    PAGE.write_text(written(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
