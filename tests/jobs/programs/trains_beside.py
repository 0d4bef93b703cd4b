"""Trains a small model on one GPU, or by DistributedDataParallel under torchrun, and holds memory.

trains_beside.py STEPS MIB. It prints each loss as a hexadecimal number and ends with status 3 if a
byte of the MIB that it holds has changed.
"""

from __future__ import annotations

import os
import sys

import torch
from torch.nn.parallel import DistributedDataParallel

BLOCK = 16 << 20  # bytes


def main() -> int:
    steps, held = int(sys.argv[1]), int(sys.argv[2])
    rank = int(os.environ.get("RANK", 0))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64))
    model = model.to(device)
    if "RANK" in os.environ:
        torch.distributed.init_process_group("nccl")
        model = DistributedDataParallel(model, device_ids=[device.index])
    count = held * (1 << 20) // BLOCK
    blocks = [torch.full((BLOCK // 4,), float(i), device=device) for i in range(count)]
    optimizer = torch.optim.Adam(model.parameters())
    generator = torch.Generator().manual_seed(rank)
    losses = []
    for _ in range(steps):
        batch = torch.randn(8, 64, generator=generator).to(device)
        optimizer.zero_grad()
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
    if "RANK" in os.environ:
        torch.distributed.destroy_process_group()
    # All ranks write into one pipe, and torchrun runs Python unbuffered: one call writes a line.
    os.write(1, f"losses of rank {rank} {' '.join(losses)}\n".encode())
    return 0 if all(bool((block == i).all()) for i, block in enumerate(blocks)) else 3


sys.exit(main())
