"""What an allocation of PyTorch costs on the host: its own allocator beside the pool's adapter.

python bench/tensor_cost.py --rounds 5

Processes of both kinds take turns, so that a busy machine hurts both alike; of each the fastest
round counts. In a rehearsal, without a trace.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

BUILD = Path(os.environ.get("VRAMSTOW_BUILD", Path(__file__).resolve().parents[1] / "build"))

PROGRAM = """
import json, time, torch
raw_alloc = torch._C._cuda_cudaCachingAllocator_raw_alloc
raw_delete = torch._C._cuda_cudaCachingAllocator_raw_delete
def raw(count):
    for _ in range(count):
        raw_delete(raw_alloc(4096, 0))
def empty(count):
    for _ in range(count):
        torch.empty(1024, device='cuda')
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)]).cuda()
batch = torch.randn(16, 64, device='cuda')
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
def iteration(count):
    for _ in range(count):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
found = {}
for name, function, count in (('raw pair', raw, 20000), ('torch.empty', empty, 20000),
                              ('iteration', iteration, 50)):
    function(count // 10)
    best = None
    for _ in range(7):
        begin = time.perf_counter_ns()
        function(count)
        spent = (time.perf_counter_ns() - begin) / count
        best = spent if best is None else min(best, spent)
    found[name] = best
print(json.dumps(found))
"""


def measure(level: str) -> dict[str, float]:
    command = [BUILD / "bin/vramstow", "run", "--simulate=h200,effects=off", "--no-trace"]
    command += ["--pool=on", f"--level={level}"] if level != "native" else ["--pool=off"]
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
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    rounds = parser.parse_args().rounds
    best: dict[str, dict[str, float]] = {"native": {}, "tensors": {}}
    for _ in range(rounds):
        for level, times in best.items():
            for name, value in measure(level).items():
                times[name] = min(value, times.get(name, value))
    for name, native in best["native"].items():
        tensors = best["tensors"][name]
        print(
            f"{name:12} native {native:9.0f} ns, tensors {tensors:9.0f} ns: {tensors / native:.2f}"
        )


if __name__ == "__main__":
    main()
