"""One rank of a job whose other ranks are not there does what it does among all of them."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import VRAMSTOW, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]
PROGRAM = Path(__file__).parent / "programs/one_of_many.py"
KINDS = ("allocate", "free", "reserve", "unreserve", "map", "unmap")
WRONG = {
    "h100,world=8,rank=8": "rank=8 is none of world=8: its ranks are 0 to 7.",
    "h100,rank=0": "rank=0 needs world=N: how many ranks the job has.",
    "h100,world=8": "world=8 needs rank=R: which ranks run, such as rank=0.",
    "h100,world=8,nodes=3,rank=0": "nodes=3 does not divide world=8: each machine has as many",
}


def done(ranks: list[int], world: int) -> list[str]:
    return [f"rank {rank} of {world}: done" for rank in ranks]


def said(job: Rehearsal, pattern: str) -> list[str]:
    return sorted(line for line in job.out.splitlines() if re.search(pattern, line))


@pytest.mark.parametrize("kind", ["collectives", "objects", "gloo"])
def test_others_send_what_this_rank_does(rehearse: Rehearse, python: str, kind: str) -> None:
    job = rehearse(python, PROGRAM, kind, card="h100,world=8,rank=0,5")
    assert job.status == 0, job.err[-4000:]
    assert said(job, "done") == done([0, 5], 8)
    assert len(job.traces) == 2
    assert ("stay as they are here" in job.err) == (kind == "objects")


def test_messages_pass_whatever_is_computed(rehearse: Rehearse, python: str) -> None:
    job = rehearse(python, PROGRAM, "ddp", card="h100,world=1024,rank=3,values=off")
    assert job.status == 0, job.err[-4000:]
    assert said(job, "done") == done([3], 1024)
    assert job.assert_trace_equals_call_log() > 0


@pytest.mark.parametrize("kind", ["fsdp", "mesh", "pipeline"])
def test_one_rank_takes_what_it_takes_among_all(
    rehearse: Rehearse, python: str, tmp_path: Path, kind: str
) -> None:
    """Event for event of the device; a pipeline's peak."""
    launcher = [python, "-m", "torch.distributed.run", "--nproc-per-node", "4"]
    together = rehearse(*launcher, "--standalone", PROGRAM, kind, card="h100,count=4", timeout=900)
    assert together.status == 0, together.err[-4000:]
    among_all = {rank: events_of(trace) for rank, trace in by_rank(together).items()}
    for trace in together.traces:
        trace.unlink()
    card = "h100,world=4,rank=0,3"
    alone = rehearse(*launcher, "--standalone", PROGRAM, kind, card=card, timeout=900)
    assert alone.status == 0, alone.err[-4000:]
    assert said(alone, "done") == done([0, 3], 4)
    for rank in (0, 3):
        assert said(alone, f"^rank {rank} step") == said(together, f"^rank {rank} step")
        found, expected = events_of(by_rank(alone)[rank]), among_all[rank]
        assert len(found) > 20
        if kind == "pipeline":
            # Stages tell one another the shapes, in messages that have a small tensor each.
            assert abs(peak_of(found) - peak_of(expected)) <= 4096
        else:
            assert found == expected


def peak_of(events: list[tuple[str, ...]]) -> int:
    """Bytes of all blocks that are live at the most."""
    level = peak = 0
    for kind, _, _, size in events:
        level += int(size) if kind == "allocate" else -int(size) if kind == "free" else 0
        peak = max(peak, level)
    return peak


def by_rank(job: Rehearsal) -> dict[int, Path]:
    found = {}
    for trace in job.traces:
        # The launcher leaves a trace of its own, which is empty.
        number = re.match(r"one_of_many-.*-rank(\d+)-", trace.name)
        if number is not None:
            found[int(number.group(1))] = trace
    return found


def events_of(trace: Path) -> list[tuple[str, ...]]:
    """What was allocated and freed of the device, tensors and what the driver was asked for.

    Pinned memory is PyTorch's cache: what it takes again depends on what had ended by then.
    """
    listing = subprocess.run(
        [VRAMSTOW, "export", trace, "--to", "csv"], check=True, capture_output=True, text=True
    )
    told = ("kind", "call", "requested", "size")
    return [
        tuple(row[name] for name in told)
        for row in csv.DictReader(listing.stdout.splitlines())
        if row["kind"] in KINDS and row["memory"] != "host_pinned"
    ]


def test_what_is_wrong_with_a_job_is_said_in_one_sentence(python: str) -> None:
    for spec, sentence in WRONG.items():
        refused = subprocess.run(
            [VRAMSTOW, "run", f"--simulate={spec}", "--", python, "-c", "pass"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"vramstow run: simulated card: {sentence}")
        assert refused.stderr.count("\n") == 1


def test_a_rank_that_fails_is_named_and_its_status_is_the_jobs(rehearse: Rehearse) -> None:
    job = rehearse("sh", "-c", 'exit "$LOCAL_RANK"', card="h100,world=16,rank=8,11")
    assert job.status == 3
    assert "rank 11 ended with status 3." in job.err
    assert os.environ.get("RANK") is None


def test_variables_of_a_launcher_are_told(rehearse: Rehearse) -> None:
    names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT"
    show = "; ".join(f"echo {name}=${name}" for name in names.split())
    job = rehearse("sh", "-c", show, card="h100,world=256,rank=255", env={"MASTER_PORT": "1"})
    assert job.out.split() == [
        *("RANK=255", "WORLD_SIZE=256", "LOCAL_RANK=7", "LOCAL_WORLD_SIZE=8", "GROUP_RANK=31"),
        *("MASTER_ADDR=127.0.0.1", "MASTER_PORT=1"),
    ]
