"""Computes how fast a step can be if memory is moved within it.

The bound is for a step that begins and ends with all its memory on the GPU. At each moment, the
bytes above the GPU's room must have left since the step began, and must return before it ends. The
link copies in both directions at once. If the link needs more time than the work provides, the step
takes longer by the difference.
"""

from __future__ import annotations

import csv
import itertools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Level:
    """The allocated bytes at a moment of the GPU's time, which is known up to an interval (ns)."""

    earliest: int
    latest: int
    bytes: int


def levels_of(vramstow: Path, trace: Path) -> list[Level]:
    """Returns the level after each allocation and free of a tensor in a trace with clock=model.

    The clock says from time to time when the GPU finishes the submitted work, so the level between
    two such records belongs to the interval between them.
    """
    command = [str(vramstow), "export", str(trace), "--to", "csv", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as export:
        assert export.stdout is not None
        found = list(_levels(csv.DictReader(export.stdout)))
    if export.returncode != 0:
        raise RuntimeError(f"vramstow export failed with status {export.returncode}")
    return found


def _levels(events: Iterator[dict[str, str]] | csv.DictReader[str]) -> Iterator[Level]:
    sizes: dict[str, int] = {}
    allocated = done = 0
    waiting: list[int] = []
    for event in events:
        if event["kind"] == "model_work":
            then = int(event["offset"]) + int(event["object"], 16)
            yield from (Level(done, then, level) for level in waiting)
            waiting.clear()
            done = then
        elif event["kind"] == "allocate" and event["call"] == "tensor":
            sizes[event["address"]] = int(event["size"])
            allocated += int(event["size"])
            waiting.append(allocated)
        elif event["kind"] == "free":
            allocated -= sizes.pop(event["address"], 0)
            waiting.append(allocated)


def bound(levels: list[Level], ends: list[int], room: int, bytes_per_second: float) -> float:
    """Returns the bound of a step on a GPU with `room` bytes, divided by its time with enough.

    `ends` are the times at which the steps ended, in nanoseconds. The last step with a later level
    counts, because all of its levels are known. Without such a step, only known levels count.
    """
    steps = list(itertools.pairwise(ends))
    whole = [step for step in steps if any(level.latest > step[1] for level in levels)]
    begin, end = (whole or steps)[-1]
    out_ns = back_ns = 0.0
    for level in levels:
        if not begin < level.latest <= end:
            continue
        move_ns = (level.bytes - room) / bytes_per_second * 1e9
        out_ns = max(out_ns, move_ns - (level.latest - begin))
        back_ns = max(back_ns, move_ns - (end - max(level.earliest, begin)))
    return (end - begin + out_ns + back_ns) / (end - begin)
