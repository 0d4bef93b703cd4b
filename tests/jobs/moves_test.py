"""bench/moves.py reports jobs that need more memory than the GPU has, and jobs that do not."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from built import ROOT, run_program
from conftest import Rehearsal

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import moves

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

BENCH = ROOT / "bench"
Rehearse = Callable[..., Rehearsal]
CARD = "h100,values=all,context=64MiB"
MOVES = {"VRAMSTOW_POOL": "on", "VRAMSTOW_OFFLOAD": "auto,host=2GiB"}


def told(job: Rehearsal) -> list[dict]:
    assert job.status == 0, job.err
    return [json.loads(line) for line in job.out.splitlines()]


@pytest.mark.parametrize("job", moves.JOBS)
def test_results_are_the_same_where_memory_moves(rehearse: Rehearse, python: str, job: str) -> None:
    command = (python, BENCH / "moves_job.py", job, "plain", "--tiny", "--steps", "3", "--results")
    *roomy, held = told(rehearse(*command, card=CARD))
    memory = held["outside_bytes"] + int(held["allocated_bytes"] / 1.5)
    small = rehearse(*command, card=f"{CARD},memory={memory >> 20}MiB", env=MOVES)
    *narrow, _ = told(small)
    assert small.analysis()["offload"]["out_bytes"] >= 8 << 20
    assert [step["result"] for step in narrow] == [step["result"] for step in roomy]


@pytest.mark.parametrize("use", ["read", "copy", "copy_a_part", "write", "free"])
def test_the_state_of_an_optimizer_may_be_used_between_steps(
    rehearse: Rehearse, python: str, use: str
) -> None:
    command = (python, ROOT / "tests/jobs/programs/uses_state.py", use)
    *roomy, held = told(rehearse(*command, card=CARD))
    memory = held["outside_bytes"] + int(held["allocated_bytes"] / 1.15)
    small = rehearse(*command, card=f"{CARD},memory={memory >> 20}MiB", env=MOVES)
    *narrow, _ = told(small)
    offload = small.analysis()["offload"]
    assert offload["out_bytes"] >= 8 << 20
    assert offload["returned_bytes"] >= 8 << 20
    assert narrow == roomy


@pytest.mark.parametrize(
    ("job", "means"),
    [
        ("decoder", "save_on_cpu"),
        ("wide", "checkpoints"),
        ("wide", "states-by-hand"),
        ("wide", "fsdp"),
        ("two-models", "models-by-hand"),
        ("two-models", "layers-by-hand"),
    ],
)
def test_other_means_do_the_same(rehearse: Rehearse, python: str, job: str, means: str) -> None:
    command = [python, BENCH / "moves_job.py", job, "--tiny", "--steps", "3", "--results"]
    *plain, held = told(rehearse(*command, "plain", card=CARD))
    *other, less = told(rehearse(*command, means, card=CARD))
    # save_on_cpu() gives tensors back without their strides. On some processors a product in
    # bfloat16 of such a tensor is rounded differently.
    tolerance = 1e-3 if means == "save_on_cpu" else 0
    expected = pytest.approx([step["result"] for step in plain], rel=tolerance, abs=0)
    assert [step["result"] for step in other] == expected
    assert less["allocated_bytes"] < held["allocated_bytes"]


def test_all_means_are_known_to_the_command() -> None:
    import moves_means
    import moves_models

    assert list(moves.JOBS) == list(moves_models.JOBS)
    own = {name: kind for name, kind in moves.BY_HAND.items() if name != moves.FEW}
    assert ["plain", *own] == list(moves_means.MEANS)
    for name, kind in own.items():
        means = moves_means.MEANS[name]
        assert means.for_training == (kind != "inference")
        assert means.for_inference == (kind != "training")


def test_a_table_is_made(tmp_path: Path) -> None:
    facts = tmp_path / "moves.json"
    means = "vramstow,save_on_cpu,models-by-hand"
    done = run_program(
        *(sys.executable, BENCH / "moves.py", "--quick", "--tiny", "--steps", "3"),
        *("--means", means, "--json", facts),
    )
    assert done.returncode == 0, done.stderr
    for name in ("link", "step"):
        row = rf"^\| \*{name} bound\* \| \*\d\.\d\d\* \| \*\d\.\d\d\* \|$"
        assert re.search(row, done.stdout, re.M)
    assert re.search(r"^\| vramstow \| \*{0,2}\d+\.\d\d", done.stdout, re.M)
    assert "models-by-hand" not in done.stdout  # a training has only one model
    (job,) = json.loads(facts.read_text())["jobs"]
    assert [row["factor"] for row in job["rows"]] == [1.25, 2]
    for row in job["rows"]:
        assert row["memory_bytes"] < job["peak_bytes"] + (1 << 30)
        assert row["runs"]["vramstow"]["offload"]["out_bytes"] > 0


def test_memory_must_leave_before_the_step_needs_it_and_be_back_at_its_end() -> None:
    import moves_bound

    # A step of 100 ns. 30 bytes are allocated from its beginning, 60 in its middle.
    levels = [
        moves_bound.Level(100, 100, 30),
        moves_bound.Level(150, 150, 60),
        moves_bound.Level(200, 200, 30),
        moves_bound.Level(200, 201, 0),
    ]
    ends = [100, 200]

    def bound(room: int, bytes_per_ns: float) -> float:
        return moves_bound.bound(levels, ends, room, bytes_per_ns * 1e9)

    assert bound(60, 0.1) == 1  # everything fits
    assert bound(30, 0.6) == 1  # 30 bytes take 50 ns in each direction
    assert bound(30, 0.5) == pytest.approx(1.2)  # they take 60 ns, but only 50 are available
    assert moves_bound.bound([], ends, 30, 1e9) == 1


def test_a_level_lies_between_two_records_of_the_clock() -> None:
    import moves_bound

    def event(kind: str, **columns: str) -> dict[str, str]:
        return {"kind": kind, "call": "tensor", "address": "0x1", "size": "8"} | columns

    events = [
        event("model_work", offset="5", object="0xa"),
        event("allocate"),
        event("allocate", call="cuMemAlloc", address="0x0"),
        event("model_work", offset="20", object="0x10"),
        event("free"),
        event("model_work", offset="40", object="0x0"),
    ]
    assert list(moves_bound._levels(iter(events))) == [
        moves_bound.Level(15, 36, 8),
        moves_bound.Level(36, 40, 0),
    ]
