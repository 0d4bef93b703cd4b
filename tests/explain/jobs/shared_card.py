"""A second process has half of the card. Mended: it ends before training begins."""

import subprocess
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def neighbour() -> None:
    kept = torch.empty(900, 2**20, dtype=torch.uint8, device="cuda")  # <-- place
    print("ready", len(kept), flush=True)
    if not mended:
        sys.stdin.read()


def train() -> None:
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(3):
        x = torch.randn(16_384, 1024, device="cuda")
        for layer in model:
            x = torch.tanh(layer(x))
        optimizer.zero_grad()
        x.square().mean().backward()
        optimizer.step()
        print("step", step)


if "neighbour" in sys.argv:
    neighbour()
else:
    command = [sys.executable, __file__, "neighbour"]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # <-- place
    try:
        other.stdout.readline()
        if mended:
            other.stdin.close()
            other.wait()
        train()
    finally:
        other.kill()
