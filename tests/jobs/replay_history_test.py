"""Compares the models of PyTorch's allocator with PyTorch: the same segments, entry for entry.

Jobs run the real wheel on the simulated device and record PyTorch's own history; `vramstow replay`
sees only the requests, and must allocate and free the same segments in the same order, of the same
size, on the same stream and at the same positions relative to each other.
"""

from __future__ import annotations

import csv
import json
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built import VRAMSTOW, run_vramstow
from conftest import EXAMPLES, PROGRAMS, Rehearsal

pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")

Rehearse = Callable[..., Rehearsal]

SEGMENTS = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")
# Each row has the fraction of the device that the job may use, and PyTorch's settings.
JOBS = [
    (1.0, ""),
    (0.5, ""),
    (0.5, "max_split_size_mb:32"),
    (0.4, "max_split_size_mb:64,max_non_split_rounding_mb:40"),
    (1.0, "roundup_power2_divisions:8"),
    (0.6, "roundup_power2_divisions:[1:2,4:8,16:4,>:2]"),
    (0.5, "garbage_collection_threshold:0.6"),
    (0.4, "garbage_collection_threshold:0.7,max_split_size_mb:48"),
    (0.5, "large_segment_size_mb:40"),
    (1.0, "expandable_segments:True"),
    (0.4, "expandable_segments:True"),
    (0.5, "expandable_segments:True,roundup_power2_divisions:4"),
]
# The jobs that are run: one for each way in which PyTorch splits segments, or all in the long
# suite.
OFTEN = JOBS if os.environ.get("VRAMSTOW_LONG") else [JOBS[i] for i in (1, 3, 5, 7, 10)]


def recorded_steps(snapshot: Path) -> list[tuple[str, int, int, int]]:
    """Returns (call, address, bytes, stream) of PyTorch's history."""
    with snapshot.open("rb") as file:
        history: dict[str, Any] = pickle.load(file)
    return [
        (entry["action"], entry["addr"], entry["size"], entry["stream"])
        for entry in history["device_traces"][0]
        if entry["action"] in SEGMENTS
    ]


def modelled_steps(
    snapshot: Path, model: str, folder: Path, memory: list[str]
) -> list[tuple[str, int, int, int]]:
    steps = folder / "steps.csv"
    command = [VRAMSTOW, "replay", snapshot, "--models", model, "--steps", steps, *memory]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with steps.open() as file:
        return [
            (row["call"], int(row["address"], 16), int(row["bytes"]), int(row["stream"]))
            for row in csv.DictReader(file)
            if row["call"] in SEGMENTS
        ]


def assert_same_steps(
    recorded: list[tuple[str, int, int, int]], modelled: list[tuple[str, int, int, int]]
) -> None:
    """Compares steps; names of addresses and streams may differ by a one-to-one mapping."""
    streams: dict[int, int] = {}
    places: dict[int, int] = {}  # recorded address -> address in the model
    for number, (theirs, ours) in enumerate(zip(recorded, modelled, strict=False)):
        assert ours[0] == theirs[0] and ours[2] == theirs[2], f"step {number}: {ours} != {theirs}"
        assert streams.setdefault(theirs[3], ours[3]) == ours[3], f"step {number}: another stream"
        if theirs[0] == "segment_alloc":
            assert theirs[1] not in places, f"step {number}: a segment that is there already"
            places[theirs[1]] = ours[1]
        elif theirs[0] == "segment_free":
            assert places.pop(theirs[1]) == ours[1], f"step {number}: another segment"
        else:
            # For all addresses in the same recorded range, the modelled address must differ by the
            # same distance. Ranges are 1 TiB apart.
            distance = theirs[1] - ours[1]
            known = places.setdefault(theirs[1] >> 32, distance)
            assert known == distance, f"step {number}: another place in the segment"
    assert len(set(streams.values())) == len(streams)
    assert len(modelled) == len(recorded)


@pytest.mark.parametrize(("fraction", "settings"), OFTEN, ids=[f"{s}@{f}" for f, s in OFTEN])
def test_the_model_takes_and_gives_back_what_pytorch_did(
    rehearse: Rehearse, python: str, tmp_path: Path, fraction: float, settings: str
) -> None:
    snapshot = tmp_path / "history.pickle"
    seed = str(JOBS.index((fraction, settings)) + 1)
    job = rehearse(
        python,
        PROGRAMS / "allocator_history.py",
        seed,
        str(fraction),
        snapshot,
        card="h200,memory=4GiB",
        env={"PYTORCH_CUDA_ALLOC_CONF": settings},
    )
    assert job.status == 0, job.err[-2000:]
    limit = "" if fraction == 1 else f"per_process_memory_fraction:{fraction}"
    model = ("native:" + ",".join(filter(None, [settings, limit]))).rstrip(":")
    memory = [] if fraction == 1 else ["--memory", "4GiB"]
    modelled = modelled_steps(snapshot, model, tmp_path, memory)
    recorded = recorded_steps(snapshot)
    assert len(recorded) > 40
    assert_same_steps(recorded, modelled)


def test_tensors_that_the_pool_served_need_of_the_model_what_pytorch_took(
    rehearse: Rehearse, python: str, tmp_path: Path
) -> None:
    command = (python, EXAMPLES / "mlp.py", "--steps", "2")
    plain = rehearse(*command, env={"VRAMSTOW_POOL": "off", "VRAMSTOW_LEVEL": "segments"})
    plain.assert_well(steps=2)
    libraries = {one["library"]: one for one in plain.analysis()["by_library"]}
    for trace in plain.traces:
        trace.unlink()
    pooled = rehearse(*command, env={"VRAMSTOW_POOL": "on", "VRAMSTOW_STACKS": "all"})
    assert pooled.status == 0, pooled.err[-2000:]
    result = run_vramstow(
        "replay", *pooled.traces, "--models", "native", "--json", check=True, timeout=120
    )
    replayed = json.loads(result.stdout)
    assert replayed["requests"]["private_pools"] == 0
    native = replayed["models"][0]
    assert native["peak_reserved_bytes"] == libraries["libc10_cuda.so"]["highest_bytes"]
    assert native["device_calls"] == libraries["libc10_cuda.so"]["allocations"]
