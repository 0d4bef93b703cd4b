"""An engine that sleeps with its own cuMem calls, as vLLM does, gives the same results with the
interposer and without it, and with its pool at either level."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from built import BUILD, run_program
from modes import HERE, MODES, assert_seen, environment

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

LIBRARY = Path(os.environ.get("VRAMSTOW_SLEEP_ALLOCATOR", BUILD / "tests/sleep_allocator.so"))
# On this simulated GPU all results are computed. Its memory is small, so little is left besides the
# memory of the engine.
CARD = "h200,memory=1GiB,emulation=on,allowance=8GiB"


def run_engine(folder: Path, mode: str) -> str:
    folder.mkdir()
    env = environment(CARD, mode, folder) | {"VRAMSTOW_CHECK": "1"}
    engine = run_program(sys.executable, HERE / "sleep_engine.py", LIBRARY, env=env, timeout=400)
    assert engine.returncode == 0, f"{mode}: {engine.stdout[-2000:]}{engine.stderr[-4000:]}"
    assert "report this" not in engine.stderr, engine.stderr[-2000:]
    assert_seen(mode, folder)
    return engine.stdout


def test_an_engine_that_sleeps_sees_the_same_in_every_mode(tmp_path: Path) -> None:
    said = {mode: run_engine(tmp_path / mode, mode) for mode in MODES}
    lines = said["native"].splitlines()
    assert lines[0] == lines[-3], "what slept has changed"
    # 144 MiB are all memory of the engine: weights of 48 MiB and caches of 96 MiB.
    assert [line for line in lines if line.startswith("level")] == [
        f"level {level} gave 144 MiB" for level in (1, 2, 1)
    ]
    # Without the start-up hook no operator is computed, so that only the memory is the same.
    plain = said.pop("plain").splitlines()
    assert [line for line in plain if line[0] == "l"] == [line for line in lines if line[0] == "l"]
    for mode, text in said.items():
        assert text == said["native"], mode
