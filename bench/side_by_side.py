"""Runs a command alternately with and without the preload, and compares the times.

The runs alternate because a machine gets slower and faster over minutes; the fastest fifth counts
because other load on the machine only ever adds time. Processor time is printed beside wall time,
because other programs disturb it less. `exec_cost.py` and `import_torch_cost.py` are the programs
to run.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHIM = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build")) / "lib/libvramstow.so"


@dataclass
class Times:
    """The seconds of one run, or of the typical one of several."""

    wall: float
    processor: float


@dataclass
class Comparison:
    without: Times
    with_preload: Times

    @property
    def added(self) -> Times:
        return Times(
            self.with_preload.wall - self.without.wall,
            self.with_preload.processor - self.without.processor,
        )


def times_of(command: Sequence[str], environment: dict[str, str]) -> Times:
    """Measures from the start of the command to its end, including its children."""
    begin = time.perf_counter()
    child = os.posix_spawn(command[0], list(command), environment)
    _, status, usage = os.wait4(child, 0)
    took = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"{command[0]} ended with status {status}: nothing to measure.")
    return Times(took, usage.ru_utime + usage.ru_stime)


def typical(runs: list[Times]) -> Times:
    def fastest(values: list[float]) -> float:
        return statistics.mean(sorted(values)[: max(1, len(values) // 5)])

    return Times(fastest([run.wall for run in runs]), fastest([run.processor for run in runs]))


def compare(command: Sequence[str], rounds: int) -> Comparison:
    if not SHIM.exists():
        raise SystemExit(f"{SHIM} is not there: build it, or set VRAMSTOW_BUILD.")
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    preloaded = plain | {"LD_PRELOAD": str(SHIM)}
    for environment in (plain, preloaded):
        times_of(command, environment)  # loads the files into memory
    without: list[Times] = []
    with_preload: list[Times] = []
    for number in range(rounds):
        order = [(plain, without), (preloaded, with_preload)]
        for environment, runs in order if number % 2 == 0 else reversed(order):
            runs.append(times_of(command, environment))
    return Comparison(typical(without), typical(with_preload))
