"""Saves tensors for a backward pass in page-locked host memory, as offloaded training does.

`memory GIB` saves that number of GiB of activations and prints the KiB of this machine that they
used. `values` trains a small network and prints its loss and gradients to the bit. With `kept` as
last argument everything is kept on the GPU.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import sys

import torch

ON_CPU = sys.argv[-1] != "kept"


def place() -> contextlib.AbstractContextManager[object]:
    if not ON_CPU:
        return contextlib.nullcontext()
    return torch.autograd.graph.save_on_cpu(pin_memory=True)


def most_kib() -> int:
    """Returns the peak of the process's memory on this machine, including its page tables."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return sum(int(fields[name].split()[0]) for name in ("VmHWM", "VmPTE"))


def files_kib() -> int:
    """Returns the size of the files in memory that represent the GPU's memory."""
    held = 0
    for link in glob.glob("/proc/self/fd/*"):
        with contextlib.suppress(OSError):
            if "vramstow" in os.readlink(link):
                held += os.stat(link).st_blocks // 2
    return held


def train_large(gib: int) -> None:
    start = torch.randn(1 << 13, 1 << 13, device="cuda", requires_grad=True)
    torch.ones(8, pin_memory=True).cuda()
    before = most_kib()
    with place():
        result = start
        for _ in range(4 * gib):  # each saves 256 MiB
            result = torch.sin(result)
    result.sum().backward()
    torch.cuda.synchronize()
    assert start.grad is not None
    print(json.dumps({"host": most_kib() - before, "card": files_kib()}))


def train_small() -> None:
    torch.manual_seed(3)
    layers = [torch.nn.Linear(64, 64) for _ in range(3)]
    network = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.GELU())))
    network = network.cuda()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    values: list[list[str]] = []
    for _ in range(3):
        optimizer.zero_grad()
        with place():
            loss = network(torch.randn(256, 64, device="cuda").relu()).square().mean()
        loss.backward()
        optimizer.step()
        made = [loss, *(weight.grad for weight in network.parameters())]
        values.append([part.detach().cpu().numpy().tobytes().hex() for part in made])
    print(json.dumps(values))


if sys.argv[1] == "memory":
    train_large(int(sys.argv[2]))
else:
    train_small()
