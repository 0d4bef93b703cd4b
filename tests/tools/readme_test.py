"""README.md: what it shows is what is printed, and it stays short."""

from __future__ import annotations

import os
import re

import pytest
from readme_example import ROOT, SECTIONS, example, split

README = ROOT / "README.md"


def labels(text: str) -> list[str]:
    """The lines without what changes from run to run: numbers, bars, and how wide they are."""
    found = []
    for line in text.splitlines():
        words = re.sub(r"-?\d[\d.,]*|[│█▁-▇░]+|[KMG]iB|\bB\b|\b(?:k|m|n|µ)?s\b", "", line)
        words = re.sub(r"[\W_]+", " ", words).strip()
        if words:
            found.append(words)
    return found


def test_it_is_short_enough_to_be_read() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= 140 and max(map(len, lines)) <= 140


def test_the_example_has_all_of_its_sections() -> None:
    shown = split(README.read_text())[1]
    assert all(f"── {name} ──" in shown for name in SECTIONS)
    assert "vramstow: REHEARSAL" in shown


@pytest.mark.skipif("VRAMSTOW_LONG_README" not in os.environ, reason="only in the long run")
def test_the_example_is_what_is_printed() -> None:
    shown = labels(split(README.read_text())[1])
    printed = labels(example())
    # Which of two equal blocks comes first may change.
    missing = [line for line in shown if line not in printed]
    assert len(missing) <= len(shown) // 10, f"python tests/tools/readme_example.py: {missing}"
