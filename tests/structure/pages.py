"""The width of pages. python tests/structure/pages.py --wrap FILE… wraps what is too wide.

Paragraphs and items of lists are wrapped, each as a whole. Tables, headings and code are left
alone.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from pathlib import Path

import tree

MOST_COLUMNS = 140
MARKER = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
# Signs that begin another element of Markdown at the start of a line.
NOT_FIRST = re.compile(r" (?=(?:[-+*>|=]|#+|\d+[.)])(?: |$))")
CODE = re.compile(r"`[^`]*`")
GLUE = "\0"


def wide_lines(text: str) -> list[int]:
    """Returns the numbers of the lines that are too wide, from 1."""
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if len(line) > MOST_COLUMNS]


def wrap_item(lines: list[str]) -> list[str]:
    """Wraps one paragraph, or one item of a list with its continuation lines."""
    if not wide_lines("\n".join(lines)):
        return lines
    marker = MARKER.match(lines[0])
    first = marker.group() if marker else re.match(r"\s*", lines[0]).group()  # type: ignore[union-attr]
    text = " ".join([lines[0][len(first) :].strip(), *(line.strip() for line in lines[1:])])
    text = CODE.sub(lambda code: code.group().replace(" ", GLUE), text)
    text = NOT_FIRST.sub(GLUE, text)
    wrapped = textwrap.wrap(
        text,
        MOST_COLUMNS,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(GLUE, " ") for line in wrapped]


def wrap(text: str) -> str:
    done: list[str] = []
    item: list[str] = []
    fenced = False

    def finish() -> None:
        done.extend(wrap_item(item) if item else [])
        item.clear()

    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        # A line with four spaces is code unless it continues an item of a list.
        code = fenced or fence or (line.startswith("    ") and not item)
        if code or not line.strip() or line.lstrip().startswith(("|", "#", "<", ">")):
            finish()
            done.append(line)
        else:
            if MARKER.match(line):
                finish()
            item.append(line)
        fenced ^= fence
    finish()
    return "\n".join(done) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrap", action="store_true", help="write the files anew")
    parser.add_argument("files", type=Path, nargs="*", help="default: all pages")
    arguments = parser.parse_args()
    status = 0
    for path in arguments.files or [path for path in tree.files() if path.suffix == ".md"]:
        text = path.read_text()
        if arguments.wrap and wide_lines(text):
            text = wrap(text)
            path.write_text(text)
        for number in wide_lines(text):
            print(f"{path}:{number}: wider than {MOST_COLUMNS} columns")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
