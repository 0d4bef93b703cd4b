"""Trains a stack of layers whose saved activations are larger than the available memory, and prints
the loss of each step and then the seconds of the last one.

larger_than_card.py HOW MEGABYTES: HOW is `plain`, or `hooks`: PyTorch's save_on_cpu moves tensors
for the backward pass to page-locked memory.
"""

from __future__ import annotations

import contextlib
import sys
import time

import torch

WIDTH = 1024
STEPS = 3


def main() -> None:
    how, megabytes = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(0)
    layers = 16
    # Each layer saves its input and its output for the backward pass.
    rows = (megabytes << 20) // (2 * layers * WIDTH * 4)
    model = torch.nn.Sequential()
    for _ in range(layers):
        model.append(torch.nn.Linear(WIDTH, WIDTH)).append(torch.nn.Tanh())
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.ones(rows, WIDTH, device="cuda")
    seconds = 0.0
    for _ in range(STEPS):
        begin = time.perf_counter()
        optimizer.zero_grad()
        hooks = torch.autograd.graph.save_on_cpu(pin_memory=True)
        with hooks if how == "hooks" else contextlib.nullcontext():
            loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        print(loss.item(), flush=True)
        seconds = time.perf_counter() - begin
    print(f"seconds {seconds:.3f}")


main()
