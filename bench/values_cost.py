"""Measures what computing values costs in a simulated run.

It alternates steps of the example transformer with values and without.

python bench/values_cost.py [--rounds 3] [--steps 8] [--limit 1.5]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess

from side_by_side import ROOT

# Runs the example as it is, and records the time and the processor time at the end of each step.
PROGRAM = """
import builtins, runpy, sys, time
script, sys.argv = sys.argv[1], sys.argv[1:]
told, show = [], builtins.print
def note(*words, **how):
    told.append((time.monotonic(), time.process_time()))
    show(*words, **how)
builtins.print = note
runpy.run_path(script, run_name="__main__")
count = len(told) - 2
show("per step", *((last - first) / count for first, last in zip(told[1], told[-1])))
"""


def step_seconds(card: str, steps: int) -> tuple[float, float]:
    """Returns the seconds and processor seconds per step of one simulated run, without the first
    two steps."""
    command = [
        ROOT / "build/bin/vramstow",
        "run",
        "--no-trace",
        f"--simulate={card}",
        "--",
        ROOT / ".venv/bin/python",
        "-c",
        PROGRAM,
        ROOT / "examples/transformer.py",
        "--steps",
        str(steps),
    ]
    done = subprocess.run(
        list(map(os.fspath, command)), check=True, capture_output=True, text=True
    ).stdout
    wall, processor = done.splitlines()[-1].split()[2:]
    return float(wall), float(processor)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--limit", type=float, default=1.5, help="more times as long is a failure")
    arguments = parser.parse_args()
    cards = {"without": "h200,values=off", "with": "h200"}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in cards}
    for _ in range(arguments.rounds):
        for name, card in cards.items():
            seconds[name].append(step_seconds(card, arguments.steps))
    middle = {
        name: [statistics.median(column) for column in zip(*rounds, strict=True)]
        for name, rounds in seconds.items()
    }
    for name, (wall, processor) in middle.items():
        print(f"{name} values: {1000 * wall:.0f} ms a step, {1000 * processor:.0f} of processor")
    ratios = [with_ / bare for with_, bare in zip(middle["with"], middle["without"], strict=True)]
    print(f"{ratios[0]:.2f} times as long, {ratios[1]:.2f} times the processor time")
    return 0 if ratios[0] <= arguments.limit else 1


if __name__ == "__main__":
    raise SystemExit(main())
