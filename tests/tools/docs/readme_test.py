"""README.md shows the current output of the program, and is short."""

from __future__ import annotations

import os
import re
import struct
import subprocess

import pytest
from readme_example import BUILD, ROOT, SECTIONS, example, split
from readme_picture import HEIGHT, PICTURES, WIDTH

README = ROOT / "README.md"


def labels(text: str) -> list[str]:
    """Returns the lines without parts that vary between runs: numbers, bars, and their width."""
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
    assert all(f"── {name}" in shown for name in SECTIONS)
    assert all(f"    {label}" in shown for label in ("Because", "At", "Held by", "Do", "Then"))
    assert "vramstow: SIMULATED RUN" in shown


def test_the_first_screen_is_installing_a_run_its_answer_and_a_picture() -> None:
    screen = README.read_text().split("\n- **")[0]
    install, run, why, report = re.findall(r"^    (.+?)(?: +#.*)?$", screen, re.MULTILINE)
    assert install.split()[:2] == ["pip", "install"]
    assert run == "vramstow run --simulate=h200 -- python train.py"
    assert (why, report) == ("vramstow analyze", "vramstow report --open")
    assert len(screen.splitlines()) <= 16
    for command in (["run", "--help-all"], ["report", "--help"]):
        flags = {"run": "--simulate", "report": "--open"}[command[0]]
        assert flags in run_program(*command)


def run_program(*arguments: str) -> str:
    return subprocess.run(
        [BUILD / "bin/vramstow", *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_the_pictures_are_there_and_small() -> None:
    paths = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README.read_text())
    assert tuple(ROOT / path for path in paths) == PICTURES
    for picture in PICTURES:
        data = picture.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) < 250_000
        assert struct.unpack(">II", data[16:24]) == (WIDTH, HEIGHT)


@pytest.mark.skipif("VRAMSTOW_LONG_README" not in os.environ, reason="only in the long run")
def test_the_example_is_what_is_printed() -> None:
    shown = labels(split(README.read_text())[1])
    printed = labels(example())
    # The order of two equal blocks may change.
    missing = [line for line in shown if line not in printed]
    assert len(missing) <= len(shown) // 10, f"python tests/tools/docs/readme_example.py: {missing}"
