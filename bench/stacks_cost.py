"""Measures what the stacks of allocations cost a transformer whose kernels are too short to hide
anything.

Usage: stacks_cost.py [--rounds N] [--before BUILD] [MODE ...]

Told is the processor's time of a training step with all its threads: the least, and the mean of the
fastest fifth, of all processes of a kind, which take turns. The simulated card's kernels take no
time, so this is what a step costs the host: on a card less, as far as kernels hide it. The jobs
allocate some 375 times in a step. `--before` adds the kinds of another build, of the code before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(os.environ.get("VRAMSTOW_BUILD", Path(__file__).resolve().parents[1] / "build"))
PROGRAM = """
import json, time, torch
from torch import nn
torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, dropout=0.1)
model = nn.TransformerEncoder(layer, 4).cuda()
head = nn.Linear(256, 512).cuda()
optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-4)
x = torch.randn(4, 64, 256, device="cuda")
def step():
    optimizer.zero_grad()
    loss = head(model(x)).float().logsumexp(-1).mean()
    loss.backward()
    optimizer.step()
for _ in range(20):
    step()
times = []
for _ in range(150):
    begin = time.process_time_ns()
    step()
    times.append(time.process_time_ns() - begin)
times.sort()
print(json.dumps({"least": times[0], "fastest fifth": sum(times[:30]) / 30}))
"""
MODES = {
    "own": ["--no-trace"],
    "observed, no stacks": ["--stacks=off"],
    "observed": [],
    "pool, no trace": ["--pool=on", "--no-trace"],
    "pool, no stacks": ["--pool=on", "--stacks=off"],
    "pool": ["--pool=on"],
    "pool, sites with names": ["--pool=on", "--stacks=sites"],
}
BEFORE = {
    "observed, sites, before": ["--stacks=sites"],
    "pool, sites, before": ["--pool=on", "--stacks=sites"],
}


def measure(build: Path, flags: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [build / "bin/vramstow", "run", "--simulate=h200,effects=off,values=off"]
        command += [*flags, "--census=off", f"--trace-dir={folder}"]
        done = subprocess.run(
            [*command, "--", sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0 or "not its tensors" in done.stderr:
        sys.exit(done.stderr[-2000:])
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modes", nargs="*", metavar="MODE", help="one of those that are told")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument("--before", type=Path, help="the build of the code before")
    arguments = parser.parse_args()
    kinds = {name: (BUILD, flags) for name, flags in MODES.items()}
    if arguments.before is not None:
        kinds |= {name: (arguments.before, flags) for name, flags in BEFORE.items()}
    chosen = {name: kinds[name] for name in arguments.modes or kinds}
    best: dict[str, dict[str, float]] = {name: {} for name in chosen}
    for _ in range(arguments.rounds):
        for name, (build, flags) in chosen.items():
            for what, value in measure(build, flags).items():
                best[name][what] = min(value, best[name].get(what, value))
    first = next(iter(best.values()))
    for name, times in best.items():
        told = (
            f"{what} {time / 1000:7.0f} µs {time / first[what]:.3f}" for what, time in times.items()
        )
        print(f"{name:24}", *told)


if __name__ == "__main__":
    main()
