"""Measures what a simulated run costs at its start, and its share of a training loop's time.

python bench/rehearsal_cost.py --build build

It alternates `import torch` alone and `import torch` with the first tensor on the simulated device,
in CPU time and with the least of the rounds, because other programs may run on this machine. Then
it prints the share of the simulator's libraries in a profile of a training loop (this needs Linux's
perf).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORT = "import torch"
FIRST = "import torch; torch.ones(4, device='cuda'); torch.cuda.synchronize()"
TIME = "; import time; print(time.process_time())"
OURS = ("libcuda.so.1", "libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9")
LOOP = """
import os, signal, subprocess, sys, time
import torch
from torch import nn
torch.manual_seed(1)
model = nn.Sequential(
    nn.Embedding(8192, 256),
    nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True),
    nn.Linear(256, 8192),
).cuda()
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(8192, (8, 128)).cuda()
def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
for _ in range(5):
    step()
plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
command = ["perf", "record", "-q", "-F", "499", "-e", "cpu-clock", "-o", sys.argv[1]]
perf = subprocess.Popen([*command, "-p", str(os.getpid())], env=plain)
while not os.path.exists(sys.argv[1]) and perf.poll() is None:
    time.sleep(0.1)
time.sleep(2)  # wait until it has found the threads
before = time.process_time()
for _ in range(int(sys.argv[2])):
    step()
print((time.process_time() - before) / int(sys.argv[2]))
perf.send_signal(signal.SIGINT)
perf.wait()
"""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch")
    parser.add_argument("--rounds", type=int, default=5, help="how often each program is started")
    parser.add_argument("--steps", type=int, default=200, help="of the training loop")
    parser.add_argument("--card", default="h200", help="the SPEC of the simulated card")
    return parser.parse_args()


def output_of(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def rehearsed(arguments: argparse.Namespace, folder: str) -> list[str]:
    program = str(arguments.build / "bin/vramstow")
    return [program, "run", f"--simulate={arguments.card}", "--trace-dir", folder, "--"]


def measure_start(arguments: argparse.Namespace, folder: str) -> None:
    alone, first = [], []
    for _ in range(arguments.rounds):
        alone.append(float(output_of([arguments.python, "-c", IMPORT + TIME])))
        command = [*rehearsed(arguments, folder), arguments.python, "-c", FIRST + TIME]
        first.append(float(output_of(command)))
    ratio = min(first) / min(alone)
    print(f"import {min(alone):.3f} s, with the first tensor {min(first):.3f} s: {ratio:.2f} times")


def measure_loop(arguments: argparse.Namespace, folder: str) -> None:
    profile = f"{folder}/perf.data"
    loop = [arguments.python, "-c", LOOP, profile, str(arguments.steps)]
    seconds = float(output_of([*rehearsed(arguments, folder), *loop]))
    report = output_of(["perf", "report", "-i", profile, "--sort", "dso", "--stdio"])
    shares = {name: float(share) for share, name in re.findall(r"([\d.]+)%\s+(\S+)", report)}
    share = sum(shares.get(name, 0) for name in OURS)
    print(f"a step {seconds * 1e3:.2f} ms, of which {share:.1f}% in the simulator's libraries")


def main() -> None:
    arguments = parse_arguments()
    if shutil.which("perf") is None:
        sys.exit(
            "rehearsal_cost: there is no `perf` to see shares with: apt-get install linux-perf"
        )
    os.environ.pop("LD_PRELOAD", None)
    with tempfile.TemporaryDirectory() as folder:
        measure_start(arguments, folder)
        measure_loop(arguments, folder)


if __name__ == "__main__":
    main()
