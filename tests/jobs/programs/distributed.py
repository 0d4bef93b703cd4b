"""Two ranks: every kind of collective with its values checked, then training by DDP and FSDP2.

Usage: torchrun --nproc-per-node 2 distributed.py {nccl,gloo} [SECONDS]. Prints "rank N: done".
With SECONDS rank 1 kills itself after the first collective, and rank 0 has to notice within them.
"""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

BACKEND = sys.argv[1]
RANK = int(os.environ["RANK"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def on_device(values: list, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype).to(DEVICE)


def expect(tensor: torch.Tensor, values: list) -> None:
    found = tensor.cpu().tolist()
    assert found == values, f"rank {RANK}: {found}, not {values}"


def check_collectives() -> None:
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64):
        tensor = on_device([1 + RANK, 10], dtype)
        dist.all_reduce(tensor)
        expect(tensor, [3, 20])
    tensor = on_device([float(RANK)])
    dist.broadcast(tensor, src=1)
    expect(tensor, [1])
    parts = [torch.empty(2, device=DEVICE) for _ in range(2)]
    dist.all_gather(parts, on_device([RANK, 7]))
    expect(torch.stack([part.cpu() for part in parts]), [[0, 7], [1, 7]])
    large = torch.arange(3_000_000, dtype=torch.float32).to(DEVICE)
    dist.all_reduce(large)
    assert torch.equal(large.cpu(), 2 * torch.arange(3_000_000, dtype=torch.float32))


def check_nccl_only() -> None:
    tensor = torch.empty(2, device=DEVICE)
    dist.reduce_scatter_tensor(tensor, on_device([1, 2, 3, 4]))
    expect(tensor, [[2, 4], [6, 8]][RANK])
    received = torch.empty(1, device=DEVICE)
    sends = [
        dist.P2POp(dist.isend, on_device([10 + RANK]), 1 - RANK),
        dist.P2POp(dist.irecv, received, 1 - RANK),
    ]
    for work in dist.batch_isend_irecv(sends):
        work.wait()
    expect(received, [11 - RANK])
    exchanged = torch.empty(2, device=DEVICE)
    dist.all_to_all_single(exchanged, on_device([RANK, 10 + RANK]))
    expect(exchanged, [[0, 1], [10, 11]][RANK])
    gathered = torch.empty(4, device=DEVICE)
    dist.all_gather_into_tensor(gathered, on_device([RANK, RANK]))
    expect(gathered, [0, 0, 1, 1])
    half = dist.new_group([0, 1])
    tensor = on_device([1.0])
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG, group=half)
    expect(tensor, [1])


def layers() -> torch.nn.Sequential:
    return torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(4))).to(DEVICE)


def train(model: torch.nn.Module) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.randn(8, 64).to(DEVICE)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


def say_done() -> None:
    """Writes in one call: both ranks write into one pipe, and torchrun runs Python unbuffered."""
    os.write(1, f"rank {RANK}: done\n".encode())


def lose_a_rank(seconds: float) -> None:
    tensor = on_device([1.0])
    dist.all_reduce(tensor)
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    dist.all_reduce(tensor)
    torch.cuda.synchronize()
    assert time.monotonic() - begin < seconds
    say_done()
    os._exit(0)


def main() -> None:
    torch.cuda.set_device(DEVICE)
    dist.init_process_group(BACKEND, timeout=timedelta(seconds=120))
    if len(sys.argv) > 2:
        lose_a_rank(float(sys.argv[2]))
    check_collectives()
    if BACKEND == "nccl":
        check_nccl_only()
    dist.barrier()
    train(DistributedDataParallel(layers(), device_ids=[DEVICE.index]))
    sharded = layers()
    for layer in sharded:
        fully_shard(layer)
    train(fully_shard(sharded))
    dist.destroy_process_group()
    say_done()


main()
