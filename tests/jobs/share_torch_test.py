"""Two programs of PyTorch use one simulated GPU in turns: no result of an operator is lost."""

from __future__ import annotations

import json
from pathlib import Path

from sharers import Share

PROGRAM = Path(__file__).parent / "programs/takes_turns.py"
SECONDS = 30


def test_results_of_operators_are_kept_while_memory_moves(share: Share, tmp_path: Path) -> None:
    words = ("--until", tmp_path / "never", "--seconds", SECONDS, "--part", 0.6, "--seed")
    sharers = [share(*words, seed, program=PROGRAM) for seed in (1, 2)]
    for sharer in sharers:
        assert sharer.end() == 0, sharer.said()
        figures = json.loads(sharer.out.read_text().splitlines()[-1])
        assert figures["wrong_bytes"] == 0 and figures["rounds"] >= 2
    assert sum(sharer.shared()["out_bytes"] for sharer in sharers) > 0
