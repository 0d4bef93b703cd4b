"""Measures what an allocation of PyTorch costs on the host.

It measures PyTorch's own allocator, that allocator while it is observed, and the pool's adapter.

python bench/tensor_cost.py --rounds 5

Processes of all kinds take turns, so that a busy machine affects all alike; the fastest round of
each counts, and rounds are short, so that some are not interrupted. It is a simulated run, without
a trace except for the observed allocator, which records three events for each pair. Pairs are
measured in C++, by tensor_pair.cc, which is compiled first. The observer is called in place of
PyTorch's allocator and forwards each call, so the difference between *own* and *observed* is the
cost of the events.
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
import ctypes, json, sys, time, torch
torch.empty(1, device='cuda')
pairs = ctypes.CDLL(sys.argv[1])
found = {}
for name in ('raw_pair', 'data_pair'):
    pair = getattr(pairs, name)
    pair.restype, pair.argtypes = ctypes.c_double, [ctypes.c_long, ctypes.c_long]
    pair(20000, 4096)
    found[name.replace('_', ' ')] = min(pair(2000, 4096) for _ in range(400))
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
for name, function, count, rounds in (('torch.empty', empty, 500, 200),
                                      ('iteration', iteration, 1, 300)):
    function(count * 10)
    best = None
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        function(count)
        spent = (time.perf_counter_ns() - begin) / count
        best = spent if best is None else min(best, spent)
    found[name] = best
print(json.dumps(found))
"""


def compile_pairs(target: Path) -> Path:
    """Compiles the library that measures pairs, against this Python's PyTorch."""
    import torch

    package = Path(torch.__file__).resolve().parent
    packages = package.parent
    cuda = [packages / "nvidia/cu13/include", packages / "triton/backends/nvidia/include"]
    library = target / "libtensor_pair.so"
    command = ["c++", "-std=c++20", "-O2", "-fPIC", "-shared", f"-isystem{package}/include"]
    command += [f"-isystem{folder}" for folder in cuda]
    command += [str(Path(__file__).parent / "tensor_pair.cc"), "-o", str(library)]
    subprocess.run([*command, f"-L{package}/lib", "-lc10_cuda", "-lc10"], check=True)
    return library


MODES = {
    "own": ["--pool=off", "--no-trace"],
    "adapter": ["--pool=on", "--no-trace"],
    "observed": ["--pool=off", "--level=tensors", "--stacks=off"],
    "observed, stacks of sites": ["--pool=off", "--level=tensors", "--stacks=sites"],
}


def measure(mode: str, folder: Path, pairs: Path) -> dict[str, float]:
    command = [BUILD / "bin/vramstow", "run", "--simulate=h200,effects=off", *MODES[mode]]
    command += [f"--trace-dir={folder}"]
    done = subprocess.run(
        [*command, "--", sys.executable, "-c", PROGRAM, pairs],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 or "not its tensors" in done.stderr:
        sys.exit(done.stderr[-2000:])
    for trace in folder.glob("*.stow"):
        trace.unlink()
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    rounds = parser.parse_args().rounds
    best: dict[str, dict[str, float]] = {mode: {} for mode in MODES}
    with tempfile.TemporaryDirectory() as folder:
        pairs = compile_pairs(Path(folder))
        for _ in range(rounds):
            for mode, times in best.items():
                for name, value in measure(mode, Path(folder), pairs).items():
                    times[name] = min(value, times.get(name, value))
    for name, own in best["own"].items():
        for mode, times in best.items():
            print(f"{name:12} {mode:25} {times[name]:9.0f} ns: {times[name] / own:.3f}")
    own, observed = (best[mode]["raw pair"] for mode in ("own", "observed"))
    print(f"each of the three events of a raw pair: {(observed - own) / 3:.0f} ns")


if __name__ == "__main__":
    main()
