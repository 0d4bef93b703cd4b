"""Pages, messages and comments are sentences that stand alone, in words that readers know."""

from __future__ import annotations

from pathlib import Path

import pytest
import words

# Sentences of headers that still stop a reader.
LEFT = {
    "The same for row `row` of library_hooks.def, and any library that has the function.",
}


def test_no_sentence_of_a_page_stops_a_reader() -> None:
    found, count = words.judged(words.pages(), 0)
    assert count > 3000
    assert not found, "\n".join(map(str, found))


def test_no_sentence_of_a_message_stops_a_reader() -> None:
    found, count = words.judged(words.spoken(), 0)
    assert count > 3000
    assert not found, "\n".join(map(str, found))


def test_no_sentence_of_a_comment_stops_a_reader() -> None:
    found, count = words.judged(words.sources(), 1)
    assert count > 10000
    assert not [one for one in found if one.sentence not in LEFT], "\n".join(map(str, found))
    assert {one.sentence for one in found} >= LEFT, "shorten LEFT"


@pytest.mark.parametrize(
    "text",
    [
        "The same without a pool.",
        "The same, but on the host.",
        "The same as --to json",
        "As above",
        "As before.",
        "Likewise.",
        "See there.",
        "See below.",
        "Not for no blocks.",
        "0: none",
        "Of a small block without any owner.",
        "With a list of all large blocks behind it.",
        "Without a pool for the small blocks.",
        "The user is told the reason.",
        "It shows the newest news first.",
        "The trace tells of each free.",
        "A list and its like are left out.",
        "The pool holds so many of them.",
    ],
)
def test_a_fragment_or_an_own_word_stops_a_reader(text: str) -> None:
    assert words.stops(text)
    assert words.sentences(f"The pool keeps it. {text}")[-1] == text
    assert words.stops(f"({text})")


@pytest.mark.parametrize(
    "text",
    [
        "What holds the memory?",
        "What is missing",
        "A list such as this; the peak is that of the job.",
        "Whoever asks gets it.",
        "The same text gives the same number.",
        "The same must hold with the pool.",
        "As before a capture, no thread waits.",
        "As documented, each opening returns the same address.",
        "Of nested regions the innermost counts.",
        "After a fork the child calls Reset.",
        "With graphs they then answer from a CUDA graph.",
        "At most 64 KiB.",
        "0: none yet, so that a reader waits",
        "`told` is true for a user of `vramstow ctl`.",
        "Returns its output in *told.",
        "Compares it with told.first and told[1].",
    ],
)
def test_a_plain_sentence_stops_nobody(text: str) -> None:
    assert not words.stops(text)


def test_strings_and_comments_are_told_apart(tmp_path: Path) -> None:
    code = tmp_path / "a.cc"
    code.write_text(
        'const char* a = "Of a list "  // Of a comment\n    "the first.";\n'
        "// What goes on\n// over two lines.\nint b = 1'000;  /* Who asks. */\n"
        "int c;  // the first\nint d;  // the second,\n        // on two lines\n"
    )
    strings, comments = words.pieces(code)
    assert [piece.text for piece in strings] == ["Of a list the first."]
    assert [piece.text.strip() for piece in comments] == [
        "Who asks.",
        "Of a comment",
        "What goes on over two lines.",
        "the first",
        "the second, on two lines",
    ]
    script = tmp_path / "a.py"
    script.write_text('"""Of a module."""\n\nA = "What is it."  # Who asks.\nB = 1  # one\n')
    strings, comments = words.pieces(script)
    assert [piece.text for piece in strings] == ["What is it."]
    assert [piece.text for piece in comments] == ["Of a module.", "Who asks.", "one"]


def test_code_and_headings_of_a_page_are_left_alone() -> None:
    text = "# What it is\n\n    Of code\n\n```\nWho runs\n```\n\n- Of an\n  item\n| a | What is |\n"
    found = [piece for piece in words.of_page(text) if piece.text.strip()]
    assert [piece.text.strip() for piece in found] == ["Of an item", "a", "What is"]
    assert found[0].line == 9
