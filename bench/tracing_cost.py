"""Measures what tracing costs a job: examples/run's training without a trace, with one without
stacks, and with stacks.

Usage: tracing_cost.py [--rounds N] [--steps N] [--pool] [BUILD]. The variants take turns in
simulated runs whose kernels take 10 µs. It prints the seconds for the steps from the third on, by
the wall clock and in processor time of the process, each from the fastest round, because other load
on the machine only ever adds time. Each tensor that is allocated or freed is an event; with --pool
the pool serves it, and otherwise PyTorch's own allocator, which is observed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SPEC = "h200,kernel-time=10us,effects=off"
MODES = {
    "no trace": ["--no-trace"],
    "trace, no stacks": ["--stacks=off"],
    "trace, stacks of sites": ["--stacks=sites"],
    "trace, all stacks": ["--stacks=all"],
}
SKIPPED = 2  # steps in which memory and libraries are first used


def processor_seconds(process: int) -> float:
    """Returns the user and system time of all of its threads, from /proc/PID/stat."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def child_of(launcher: int) -> int:
    return int(Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()[0])


def steps_took(build: Path, flags: list[str], steps: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(str(build / "bin/vramstow"), "run", f"--simulate={SPEC}", f"--trace-dir={folder}"),
            *flags,
            *("--", sys.executable, str(ROOT / "examples/transformer.py")),
            *("--steps", str(steps), "--workers", "0"),
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as run:
            assert run.stdout is not None
            begin = wall = processor = 0.0
            for line in run.stdout:
                if line.startswith(f"step {SKIPPED - 1}:"):
                    begin = time.perf_counter()
                    processor = processor_seconds(child_of(run.pid))
                if line.startswith(f"step {steps - 1}:"):
                    wall = time.perf_counter() - begin
                    processor = processor_seconds(child_of(run.pid)) - processor
            run.wait()
            # PyTorch's own thread may abort while Python ends, but the measurement is complete by
            # then.
            if wall == 0:
                raise SystemExit(f"{' '.join(command)} ended with {run.returncode} before its end.")
    return wall, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--pool", action="store_true")
    arguments = parser.parse_args()
    times: dict[str, list[tuple[float, float]]] = {mode: [] for mode in MODES}
    for _ in range(arguments.rounds):
        for mode, flags in MODES.items():
            pool = ["--pool=on"] if arguments.pool else []
            times[mode].append(steps_took(arguments.build, flags + pool, arguments.steps))
    print(f"{'':24} {'wall s':>8} {'':>7} {'processor s':>12} {'':>7}")
    base_wall, base_processor = (min(column) for column in zip(*times["no trace"], strict=True))
    for mode, rounds in times.items():
        wall, processor = (min(column) for column in zip(*rounds, strict=True))
        print(
            f"{mode:24} {wall:8.3f} {wall / base_wall - 1:+7.1%} "
            f"{processor:12.2f} {processor / base_processor - 1:+7.1%}"
        )


if __name__ == "__main__":
    main()
