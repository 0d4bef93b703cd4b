"""Two programs of PyTorch use one simulated GPU in turns: no result of an operator is lost."""

from __future__ import annotations

import json
import time
from pathlib import Path

from built import run_vramstow
from sharers import PATIENCE, Share, Sharer

PROGRAM = Path(__file__).parent / "programs/takes_turns.py"


def has_moved(sharer: Sharer, folder: Path) -> bool:
    """Returns whether memory of the program has left and come back."""
    where = ("--json", "--control-dir", folder / "control", sharer.child)
    told = run_vramstow("ctl", *where, "stats")
    rows = json.loads(told.stdout).get("share", []) if told.returncode == 0 else []
    return any(row["in_bytes"] > 0 for row in rows)


def test_results_of_operators_are_kept_while_memory_moves(share: Share, tmp_path: Path) -> None:
    until = tmp_path / "until"
    words = ("--until", until, "--seconds", PATIENCE, "--part", 0.6, "--seed")
    sharers = [share(*words, seed, program=PROGRAM) for seed in (1, 2)]
    end = time.monotonic() + PATIENCE
    while not all(has_moved(sharer, tmp_path) for sharer in sharers) and time.monotonic() < end:
        time.sleep(0.2)
    until.touch()
    for sharer in sharers:
        assert sharer.end() == 0, sharer.said()
        figures = json.loads(sharer.out.read_text().splitlines()[-1])
        assert figures["wrong_bytes"] == 0 and figures["rounds"] >= 1
    assert sum(sharer.shared()["out_bytes"] for sharer in sharers) > 0
