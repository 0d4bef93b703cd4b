"""No line of a page is wider than a screen, and the wrapping of pages does not change their
meaning."""

from __future__ import annotations

import pages
import tree

# Pages with lines that are still too wide. This list only shrinks.
WIDE: set[str] = set()


def test_no_line_of_a_page_is_too_wide() -> None:
    found = {
        tree.relative(path): lines
        for path in tree.files()
        if path.suffix == ".md" and (lines := pages.wide_lines(path.read_text()))
    }
    new = {name: lines for name, lines in found.items() if name not in WIDE}
    assert not new, f"tests/structure/pages.py --wrap wraps paragraphs and lists: {new}"
    assert not WIDE - found.keys(), f"take these off the list in {__file__}: {WIDE - found.keys()}"


def test_a_paragraph_and_an_item_are_wrapped_as_a_whole() -> None:
    text = f"- {'word ' * 40}\n  {'more ' * 3}\n- short\n\n{'other ' * 40}\n"
    lines = pages.wrap(text).splitlines()
    assert not pages.wide_lines("\n".join(lines))
    assert lines[0].startswith("- word") and lines[1].startswith("  word")
    assert lines[1].endswith("more more more")
    assert lines[2:4] == ["- short", ""]
    assert pages.wrap("\n".join(lines)) == "\n".join(lines) + "\n"


def test_code_and_tables_are_left_alone() -> None:
    text = (
        f"    {'code ' * 40}\n\n| {'cell ' * 40} |\n\n```\n{'code ' * 40}\n```\n# {'word ' * 40}\n"
    )
    assert pages.wrap(text) == text


def test_no_line_begins_with_what_would_be_read_otherwise() -> None:
    for sign in ("-", "+", "#", "1.", ">"):
        text = f"{'x' * 138} {sign} {'y' * 20} {'z ' * 40}"
        lines = pages.wrap(text).splitlines()
        assert len(lines) > 1
        assert not any(line.lstrip().startswith(f"{sign} ") for line in lines)


def test_a_piece_of_code_stays_in_one_line() -> None:
    lines = pages.wrap(f"{'word ' * 26}`one two three four five` {'word ' * 10}\n").splitlines()
    assert any("`one two three four five`" in line for line in lines)
