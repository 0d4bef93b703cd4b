"""Measures what it costs that several jobs use one GPU in turns (--share).

python bench/share.py [--steps N] [--only-weights] [--json FILE]

Each mix runs on one simulated GPU with clock=model. The makespan is the GPU's time at which the
last job has ended. It is compared with the same jobs one after the other, each alone on the same
GPU. The clock of each process is its own: it advances with the turns of the others only while it
waits. So a mix that fits, in which all jobs run at once, is compared with one job alone.

Two trainings with the weights 2 and 1 are compared by their steps in the time in which both run.

A job is the decoder of moves_job.py. "70%" means that a job's peak is 70% of the GPU's memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", HERE.parent / "build"))
MEBIBYTE = 1 << 20
LIMIT_SECONDS = 1800


@dataclass
class Ended:
    """How one job of a mix ended."""

    step_ns: list[int]  # when its steps ended, by the clock of its GPU
    peak_bytes: int
    outside_bytes: int
    shared: str  # what the summary says about its turns

    @property
    def end_ns(self) -> int:
        return self.step_ns[-1]


def start(
    folder: Path, number: int, memory: int, share: str | None, steps: int
) -> subprocess.Popen[bytes]:
    card = f"h100,context=512MiB,clock=model,values=off,share={folder / 'card'}"
    card += f",memory={memory // MEBIBYTE}MiB" if memory else ""
    flags = [f"--simulate={card}", f"--trace-dir={folder / f'traces{number}'}"]
    if share is not None:
        # The host's memory is not what is measured, and a simulated GPU without values uses little.
        flags += [f"--share=dir={folder / 'tables'}{share}", "--offload=explicit,host=256GiB"]
    program = [
        sys.executable,
        str(HERE / "moves_job.py"),
        "decoder",
        "plain",
        "--steps",
        str(steps),
    ]
    return subprocess.Popen(
        [str(BUILD / "bin/vramstow"), "run", *flags, "--", *program],
        stdout=(folder / f"out{number}").open("w"),
        stderr=(folder / f"err{number}").open("w"),
    )


def run(memory: int, shares: Sequence[str | None], steps: int) -> list[Ended]:
    """Runs one job for each setting of --share (None: without), all at once on one GPU."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [start(folder, i, memory, share, steps) for i, share in enumerate(shares)]
        ended = []
        for number, job in enumerate(jobs):
            job.wait(timeout=LIMIT_SECONDS)
            out = (folder / f"out{number}").read_text()
            errors = (folder / f"err{number}").read_text()
            if job.returncode != 0:
                raise SystemExit(f"job {number} ended with {job.returncode}: {errors[-2000:]}")
            lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            (held,) = (line for line in lines if "allocated_bytes" in line)
            shared = [line.split(None, 1)[1] for line in errors.splitlines() if "  shared " in line]
            steps = sorted(line["time_ns"] for line in lines if "step" in line)
            peak, outside = held["allocated_bytes"], held["outside_bytes"]
            ended.append(Ended(steps, peak, outside, "".join(shared)))
        return ended


def steps_while_all_ran(ended: Sequence[Ended]) -> list[int]:
    """Returns how many steps each job made in the second half of the time in which all ran.

    The first exchanges create page-locked memory, and the turns after them are longer than others.
    """
    end = min(one.end_ns for one in ended)
    begin = (max(one.step_ns[0] for one in ended) + end) // 2
    return [sum(begin < step <= end for step in one.step_ns) for one in ended]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60, help="of each job")
    parser.add_argument("--only-weights", action="store_true", help="skip the other mixes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    options = parser.parse_args()
    (large,) = run(0, [None], 3)
    memory = int(large.peak_bytes / 0.7) + large.outside_bytes
    mixes = {
        "two trainings of 70%": (memory, ["", ""]),
        "three trainings of 70%": (memory, ["", "", ""]),
        "two trainings that fit together": (3 * memory, ["", ""]),
    }
    facts: dict[str, dict[str, object]] = {}
    if options.only_weights:
        mixes = {}
    else:
        (alone,) = run(memory, [""], options.steps)
    print("| mix | makespan ÷ one after the other | what the first job says |")
    print("|---|---|---|")
    for mix, (size, shares) in mixes.items():
        ended = run(size, shares, options.steps)
        makespan = max(one.end_ns for one in ended)
        serial = alone.end_ns * (1 if size > 2 * memory else len(shares))
        print(f"| {mix} | {makespan / serial:.2f} | {ended[0].shared} |", flush=True)
        facts[mix] = {"makespan_ns": makespan, "serial_ns": serial}
    weighed = run(memory, [",weight=2", ",weight=1"], options.steps)
    heavy, light = steps_while_all_ran(weighed)
    print(f"\nsteps with weight=2: {heavy}, with weight=1 at the same time: {light}")
    facts["weights 2 and 1"] = {
        "steps": [heavy, light],
        "step_ns": [one.step_ns for one in weighed],
    }
    if options.json:
        options.json.write_text(json.dumps(facts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
