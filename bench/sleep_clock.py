"""Measures the time to pause and to resume a region, by a simulated GPU's virtual clock.

It prints a table in Markdown that compares it with copies of as many bytes to page-locked memory
and back.

python bench/sleep_clock.py [--gib 2 16] [--card h100]

The first round allocates the host memory, the second reuses it. Both copies use existing memory. No
result contains the time of this machine, and memory that is not computed takes no host memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("VRAMSTOW_BUILD", ROOT / "build"))
MOST_GIB = 64  # the most GiB that are not computed

PROGRAM = """
import json, sys, torch, vramstow
from model_clock_jobs import now
size, part = int(sys.argv[1]), 256 << 20
def empty(**place):
    return [torch.empty(part, dtype=torch.uint8, **place) for _ in range(size // part)]
def seconds(work):
    begin = now()
    work()
    return now() - begin
def copy(to, source):
    for one, other in zip(to, source):
        one.copy_(other, non_blocking=True)
def moved(done):
    if not done:
        sys.exit('the region did not move: is vramstow there?')
with vramstow.region('weights'):
    weights = empty(device='cuda')
kept = empty(pin_memory=True)
times = [('copy', seconds(lambda: copy(kept, weights)), seconds(lambda: copy(weights, kept)))]
for name in ('first', 'second'):
    out = seconds(lambda: moved(vramstow.pause('weights')))
    times.append((name, out, seconds(lambda: moved(vramstow.resume('weights')))))
print(json.dumps(times))
"""


def measured(gib: int, card: str) -> dict[str, tuple[float, float]]:
    """Returns the seconds to pause and to resume, of the copies and of each round."""
    size = gib << 30
    command = [BUILD / "bin/vramstow", "run", "--no-trace", "--pool=on"]
    command += [f"--offload=explicit,host={size + 2**30}"]
    command += [f"--simulate={card},clock=model,allowance={MOST_GIB}GiB", "--"]
    paths = [str(ROOT / "python"), str(ROOT / "bench"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM, str(size)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr[-2000:] or f"it ended with status {done.returncode}")
    return {name: (out, back) for name, out, back in json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=int, nargs="+", default=[2, 16], help="what sleeps")
    parser.add_argument("--card", default="h100")
    given = parser.parse_args()
    print("| GiB | way | copy | first round | second round |")
    print("|---|---|---|---|---|")
    for gib in given.gib:
        times = measured(gib, given.card)
        for way, name in enumerate(("pause", "resume")):
            rates = {round_: gib * 2**30 / spent[way] / 1e9 for round_, spent in times.items()}
            copy = rates.pop("copy")
            rounds = " | ".join(f"{rate:.1f} ({rate / copy:.2f})" for rate in rates.values())
            print(f"| {gib} | {name} | {copy:.1f} GB/s | {rounds} |")


if __name__ == "__main__":
    main()
