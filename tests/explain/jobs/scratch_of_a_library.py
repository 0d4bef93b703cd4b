"""Allocates far too much scratch memory with cudaMalloc, which PyTorch does not see.

Mended: it allocates 16 MiB.
"""

import ctypes
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def scratch(size: int) -> ctypes.c_void_p:
    runtime = ctypes.CDLL("libcudart.so.13")
    address = ctypes.c_void_p()
    status = runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size))  # <-- place
    if status != 0:
        raise MemoryError(f"cudaMalloc: {status}")
    return address


torch.zeros(1, device="cuda")
space = scratch((16 if mended else 400) << 20)
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    model(torch.randn(256, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step, "scratch", bool(space))
