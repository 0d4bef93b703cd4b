"""A program that catches its out-of-memory is not told as one that memory ended, and the line that
limits PyTorch is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

ROOT = Path(__file__).resolve().parents[2]
VRAMSTOW = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build")) / "bin/vramstow"

FILL = """
import torch

def fill():
    kept = []
    while True:
        kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))

"""
CAUGHT = """
try:
    fill()
except torch.OutOfMemoryError:
    print("went on")
"""
LIMIT = 'torch.cuda.set_per_process_memory_fraction(0.25)\nprint("limited")\n'


# What cublasCreate() asks the driver for finds no room, though PyTorch has some in its cache.
LIBRARY = """
import torch

def fill():
    spare = torch.empty(120 << 20, dtype=torch.uint8, device="cuda")
    free = torch.cuda.mem_get_info()[0]
    kept = [torch.empty(5 << 20, device="cuda") for _ in range((free >> 20) // 20)]
    del spare
    return kept

def work():
    kept = fill()
    return kept[0][: 1 << 20].view(1024, 1024) @ kept[1][: 1 << 20].view(1024, 1024)

work()
"""


def run(program: str, folder: Path, census: str = "off") -> tuple[int, str, dict[str, Any], str]:
    """The exit status, the summary, the facts and the screen."""
    script = folder / "program.py"
    script.write_text(program)
    card = "--simulate=h200,memory=1GiB"
    command = [VRAMSTOW, "run", card, f"--census={census}", "--trace-dir", folder, "--"]
    done = subprocess.run(
        [*command, sys.executable, script], capture_output=True, text=True, timeout=600, check=False
    )
    (trace,) = [path for path in folder.glob("*.stow") if not path.stem.endswith("-oom")]

    def analyze(*options: str) -> str:
        listing = subprocess.run(
            [VRAMSTOW, "analyze", *options, trace], capture_output=True, text=True, check=True
        )
        return listing.stdout

    return done.returncode, done.stderr, json.loads(analyze("--json")), analyze()


def test_a_program_that_catches_the_error_went_on(tmp_path: Path) -> None:
    status, summary, facts, screen = run(FILL + CAUGHT, tmp_path)
    assert status == 0
    assert "memory ran out 1 time, and the program went on and ended well" in summary
    assert facts["facts"]["process.exit_status"] == "0"
    assert "Memory ran out 1 time, and the program went on" in screen
    assert "The program ended well." in screen
    assert "program.py:7 fill" in screen


def test_another_error_is_told_apart(tmp_path: Path) -> None:
    status, summary, facts, screen = run(FILL + CAUGHT + 'raise KeyError("later")', tmp_path)
    assert status == 1
    assert facts["facts"]["program.uncaught"] == "KeyError"
    assert "the program went on; KeyError ended it later" in " ".join(summary.split())
    assert "KeyError ended the program later, and not the shortage" in " ".join(screen.split())


def test_a_library_that_finds_no_memory_is_told(tmp_path: Path) -> None:
    status, summary, facts, screen = run(LIBRARY, tmp_path, census="on")
    assert status == 1
    assert "CUBLAS_STATUS_" in summary and "OutOfMemoryError" not in summary
    assert facts["facts"]["program.uncaught"] == "OutOfMemoryError"
    assert facts["out_of_memory"][-1]["library"].startswith("libcublas")
    ids = {advice["id"]: advice for advice in facts["advice"]}
    assert ids["library_shortage"]["place"] == "program.py:13 work"
    assert "current_blas_handle()" in ids["library_shortage"]["action"]
    # A census was taken although PyTorch told of no out-of-memory.
    assert any("work: kept[" in one["holder"] for one in facts["out_of_memory"][-1]["holders"])
    assert "no memory was left for it" in " ".join(screen.split())


def test_an_error_that_was_raised_from_it_is_of_memory(tmp_path: Path) -> None:
    wrapped = CAUGHT.replace('    print("went on")', '    raise ValueError("no room") from None')
    status, summary, facts, screen = run(FILL.replace("\n\n", "\n" + LIMIT, 1) + wrapped, tmp_path)
    assert status == 1
    assert facts["facts"]["program.uncaught"] == "OutOfMemoryError"
    assert "went on" not in summary and "went on" not in screen
    # The same program limits itself.
    first = facts["advice"][0]
    assert first["id"] == "own_limit"
    assert first["place"] == "program.py:3 <module>"
