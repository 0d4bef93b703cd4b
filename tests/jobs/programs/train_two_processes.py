"""DistributedDataParallel in two processes over gloo, on one GPU or on two."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing
from torch.nn.parallel import DistributedDataParallel


def train(rank: int, cards: int, store: str) -> None:
    torch.cuda.set_device(rank % cards)
    distributed.init_process_group("gloo", rank=rank, world_size=2, init_method=f"file://{store}")
    model = DistributedDataParallel(
        torch.nn.Linear(16, 16).cuda(), device_ids=[torch.cuda.current_device()]
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 16).cuda()).sum().backward()
        optimizer.step()
    torch.cuda.synchronize()
    distributed.barrier()
    print(f"rank {rank} free {torch.cuda.mem_get_info()[0]}", flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(train, args=(int(sys.argv[1]), os.path.abspath(sys.argv[2])), nprocs=2)
