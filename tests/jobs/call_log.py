"""Compares a trace with the simulator's call log, which has what the driver really served."""

from __future__ import annotations

import csv
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# The calls that change the ownership of memory, sorted by what they do to their address. Other
# calls are not compared.
GIVES = {
    "cuMemAlloc",
    "cuMemAllocPitch",
    "cuMemAllocManaged",
    "cuMemAllocAsync",
    "cuMemAllocFromPoolAsync",
    "cuMemHostAlloc",
    "cuMemAllocHost",
    "cuMemHostRegister",
    "cuMemCreate",
    "cuMemAddressReserve",
    "cuMemMap",
    "cuArrayCreate",
    "cuArray3DCreate",
    "cuMipmappedArrayCreate",
}
TAKES = {
    "cuMemFree",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemHostUnregister",
    "cuMemRelease",
    "cuMemAddressFree",
    "cuMemUnmap",
    "cuArrayDestroy",
    "cuMipmappedArrayDestroy",
}
TRACED_KINDS = {
    "allocate",
    "free",
    "reserve",
    "unreserve",
    "map",
    "unmap",
    "register",
    "unregister",
    # A call in a capture reserves or releases the address at once. The memory itself is allocated
    # or freed when the graph runs.
    "graph_allocate",
    "graph_free",
}
# These calls add single nodes to a graph. The call log contains only calls on streams, so they are
# left out.
ADDED_NODES = {"cuGraphAddMemAllocNode", "cuGraphAddMemFreeNode", "cuGraphAddNode"}


@dataclass(frozen=True)
class Step:
    """One successful call: its kind, its address, and its bytes."""

    call: str
    address: int
    size: int | None  # None for a free, whose size only the call log has


def read_call_log(path: Path) -> list[Step]:
    steps = []
    mapped: dict[int, int] = {}
    # A last line without its newline was being written when the process was killed.
    lines = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    for row in csv.DictReader(lines):
        call = row["call"]
        if call not in GIVES and call not in TAKES:
            raise AssertionError(f"{path}: the comparison does not know {call}")
        if int(row["result"]) != 0:
            continue
        address, bytes_ = int(row["address"], 0), int(row["bytes"])
        if call == "cuMemMap":
            mapped[address] = bytes_
        if call == "cuMemUnmap":
            steps += [Step(call, one, None) for one in take_mappings(mapped, address, bytes_)]
        else:
            steps.append(Step(call, address, bytes_ if call in GIVES else None))
    return steps


def take_mappings(mapped: dict[int, int], address: int, size: int) -> list[int]:
    """Returns the starts of the mappings that one call removes; a trace has an event for each."""
    removed = []
    at = address
    while at < address + size and at in mapped:
        removed.append(at)
        at += mapped.pop(at)
    return removed or [address]


def read_trace(vramstow: Path, path: Path, pooled: bool = False) -> list[Step]:
    """Returns the calls that reached the driver; with `pooled` also the blocks that the pool
    served."""
    listing = subprocess.run(
        [vramstow, "export", path, "--to", "csv"], check=True, capture_output=True, text=True
    )
    rows = csv.DictReader(listing.stdout.splitlines())
    return steps_of((row for row in rows if row["call"] not in ADDED_NODES), pooled)


# Numbers that a pool's events have for the ways in which it served a block without a driver call.
POOLED = range(1, 5)


def is_pooled(row: dict[str, str], live: set[int]) -> bool:
    """True if a row is about a block of the pool; `live` has the live ones."""
    address = int(row["address"], 0)
    if row["kind"] == "allocate" and row["memory"] in ("device", "device_pitched"):
        if int(row["result"]) != 0 or int(row["object"], 0) not in POOLED:
            return False
        live.add(address)
        return True
    if row["kind"] != "free" or row["memory"] not in ("device", "device_stream"):
        return False
    known = address in live
    live.discard(address)
    return known


def steps_of(rows: Iterable[dict[str, str]], with_pooled: bool = False) -> list[Step]:
    """Returns the successful calls of an exported trace, without those that the driver refused."""
    steps: dict[int, Step] = {}
    pooled: set[int] = set()
    for row in rows:
        if row["kind"] == "refused":
            steps.pop(int(row["object"], 0), None)
        elif (is_pooled(row, pooled) or row["call"] == "tensor") and not with_pooled:
            continue
        elif row["kind"] in TRACED_KINDS and int(row["result"]) == 0 and row["call"] != "unknown":
            gives = row["call"] in GIVES
            size = int(row["requested"]) or int(row["size"])
            if row["call"] == "cuMemAllocPitch":
                size = int(
                    row["size"]
                )  # only the driver knows the pitch, so the call log counts it
            step = Step(row["call"], int(row["address"], 0), size if gives else None)
            steps[int(row["sequence"])] = step
    return [steps[sequence] for sequence in sorted(steps)]


def differences(call_log: list[Step], trace: list[Step]) -> list[str]:
    """Returns the lines that only one of the two has, or whose order differs at the same address.

    Between addresses the order may differ: driver and tracer number calls under different locks.
    """
    by_address: dict[int, tuple[list[Step], list[Step]]] = defaultdict(lambda: ([], []))
    for step in call_log:
        by_address[step.address][0].append(step)
    for step in trace:
        by_address[step.address][1].append(step)
    found = []
    for address, (witnessed, traced) in by_address.items():
        if witnessed != traced:
            position = next(
                (
                    i
                    for i, pair in enumerate(zip(witnessed, traced, strict=False))
                    if len(set(pair)) > 1
                ),
                min(len(witnessed), len(traced)),
            )
            found.append(
                f"{address:#x}: the call log has {witnessed[position : position + 3]}, "
                f"trace has {traced[position : position + 3]} (from step {position})"
            )
    return found
