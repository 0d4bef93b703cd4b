"""Sentences that a user may see begin with their subject; in comments nearly all of them do."""

from __future__ import annotations

from pathlib import Path

import pytest
import words

# The percentage of sentences in comments that may still stop a reader. It only falls, to 1.
MOST_IN_COMMENTS = 1.0


def test_no_sentence_of_a_page_stops_a_reader() -> None:
    found, count = words.judged(words.pages(), 0)
    assert count > 3000
    assert not found, "\n".join(map(str, found))


def test_no_sentence_of_a_message_stops_a_reader() -> None:
    found, count = words.judged(words.spoken(), 0)
    assert count > 3000
    assert not found, "\n".join(map(str, found))


def test_few_sentences_of_comments_stop_a_reader() -> None:
    found, count = words.judged(words.sources(), 1)
    assert count > 10000
    share = 100 * len(found) / count
    assert share <= MOST_IN_COMMENTS, (
        f"{len(found)} of {count}; tests/structure/words.py lists them"
    )
    assert share > MOST_IN_COMMENTS - 1, f"lower MOST_IN_COMMENTS in {__file__} to {share:.1f}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The pool takes it. Of equals the lowest.", ["Of equals the lowest."]),
        ("What is left is memory.", ["What is left is memory."]),
        ("Whoever asks gets it.", ["Whoever asks gets it."]),
        ("What holds the memory?", []),
        ("What is missing", []),
        ("A list such as this; the peak is that of the job.", [None]),
        ("The pool says what it has, and who asked.", []),
    ],
)
def test_what_stops_a_reader(text: str, expected: list[str | None]) -> None:
    found = [sentence for sentence in words.sentences(text) if words.stops(sentence)]
    assert found == [text if one is None else one for one in expected]


def test_strings_and_comments_are_told_apart(tmp_path: Path) -> None:
    code = tmp_path / "a.cc"
    code.write_text(
        'const char* a = "Of a list "  // Of a comment\n    "the first.";\n'
        "// What goes on\n// over two lines.\nint b = 1'000;  /* Who asks. */\n"
    )
    strings, comments = words.pieces(code)
    assert [piece.text for piece in strings] == ["Of a list the first."]
    assert [piece.text.strip() for piece in comments] == [
        "Who asks.",
        "Of a comment",
        "What goes on over two lines.",
    ]
    script = tmp_path / "a.py"
    script.write_text('"""Of a module."""\n\nA = "What is it."  # Who asks.\n')
    strings, comments = words.pieces(script)
    assert [piece.text for piece in strings] == ["What is it."]
    assert [piece.text for piece in comments] == ["Of a module.", "Who asks."]


def test_code_and_headings_of_a_page_are_left_alone() -> None:
    text = "# What it is\n\n    Of code\n\n```\nWho runs\n```\n\n- Of an\n  item\n| a | What is |\n"
    found = [piece for piece in words.of_page(text) if piece.text.strip()]
    assert [piece.text.strip() for piece in found] == ["Of an item", "a", "What is"]
    assert found[0].line == 9
