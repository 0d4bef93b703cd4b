"""Jobs like those that ran on real GPUs run in the simulator, compared with the real snapshots.

The GPUs ran PyTorch 2.6, or a release that allocates in the same way. VRAMSTOW_TEST_PYTHON names
the Python of another release (tests/releases.py sets it).
"""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from built import run_program, run_vramstow
from conftest import PROGRAMS

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

CORPUS = Path(
    os.environ.get(
        "VRAMSTOW_CORPUS", Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
    )
)
# Since this release of PyTorch, cuBLAS's workspace is allocated for each call instead of once.
OWN_WORKSPACES = (2, 15)


@dataclass(frozen=True)
class Job:
    """`aligned`: the share of the real GPU's events that must occur, in order, in releases that
    allocate as that GPU's release did, and in those that allocate workspaces for each call."""

    snapshot: str
    script: str
    arguments: tuple[str, ...]
    events: int
    aligned: tuple[float, float]


GOAL = 0.995, 0.98
JOBS = (
    Job("lm-small-forward-fp32", "small_decoder.py", ("full",), 1362, GOAL),
    # At its end autocast frees its casts in the order of their addresses, which differs between
    # runs.
    Job("lm-small-forward-bf16", "small_decoder.py", ("autocast",), 1874, (0.96, 0.96)),
    Job("lm-medium-ctx128-training", "medium_decoder.py", ("128", "training"), 12831, GOAL),
    Job(
        "lm-medium-ctx512-training", "medium_decoder.py", ("512", "autocast"), 14961, (0.995, 0.93)
    ),
    Job("lm-medium-ctx1024-inference", "medium_decoder.py", ("1024", "forward"), 2560, GOAL),
)


@pytest.fixture
def release(python: str) -> tuple[int, int]:
    ask = "from importlib.metadata import version; print(version('torch'))"
    told = run_program(python, "-c", ask, check=True).stdout
    major, minor, *_ = told.split(".")
    return int(major), int(minor)


def fidelity(real: Path, card: str, *command: str | Path) -> dict[str, Any]:
    flags = (f"--simulate={card},values=off", "--json", "--no-tries")
    done = run_vramstow("fidelity", real, *flags, "--", *command, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


IS_LONG = "VRAMSTOW_LONG" in os.environ or "VRAMSTOW_TEST_PYTHON" in os.environ


@pytest.mark.parametrize("job", JOBS if IS_LONG else JOBS[:1], ids=lambda job: job.snapshot)
def test_the_rehearsal_does_what_the_card_did(
    python: str, release: tuple[int, int], job: Job
) -> None:
    real = CORPUS / f"{job.snapshot}.pickle"
    if not real.exists():
        pytest.skip(
            f"the corpus has no {real.name}: set VRAMSTOW_CORPUS, or lay it beside the tree"
        )
    told = fidelity(real, "a100", python, PROGRAMS / job.script, *job.arguments)
    assert told["card_events"] == job.events
    off = told["rehearsed_peak_bytes"] / told["card_peak_bytes"] - 1
    if release < OWN_WORKSPACES:
        assert told["aligned_share"] >= job.aligned[0]
        assert abs(off) < 0.001
    else:
        assert told["aligned_share"] >= job.aligned[1]
        assert abs(off) < 0.01
        assert told["causes"][0]["setting"] == "release"
        assert told["causes"][0]["events"] > 0.8 * told["only_rehearsed"]


@pytest.mark.parametrize(
    ("snapshot", "program", "aligned"),
    [("lstm", "recorded_lstm.py", 0.98), ("encoder", "recorded_encoder.py", 1.0)],
)
def test_the_rehearsal_does_what_an_h100_did(
    python: str,
    release: tuple[int, int],
    tmp_path: Path,
    snapshot: str,
    program: str,
    aligned: float,
) -> None:
    """Recorded on an NVIDIA H100 with PyTorch 2.11 (docs/card.md), without its call stacks."""
    real = tmp_path / "real.pickle"
    packed = Path(__file__).with_name("h100") / f"{snapshot}.pickle.gz"
    real.write_bytes(gzip.decompress(packed.read_bytes()))
    told = fidelity(real, "h100", python, PROGRAMS / program)
    assert told["aligned_share"] >= aligned
    if release < OWN_WORKSPACES:
        for figures in (told, told["reserved"]):
            off = figures["rehearsed_peak_bytes"] / figures["card_peak_bytes"] - 1
            assert abs(off) < 0.001
