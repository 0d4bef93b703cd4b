"""A rank of a job whose other ranks may be absent: one kind of work each, by name.

Usage: one_of_many.py {collectives,objects,gloo,ddp,fsdp,tp,mesh,pipeline} [WIDTH LAYERS STEPS].
Prints "rank N of M: done". The program does not know of the simulator; `collectives`, `objects` and
`gloo` check the results of ranks if all others do the same as this one.
"""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

KIND = sys.argv[1]
WIDTH, LAYERS, STEPS = (int(one) for one in (sys.argv[2:] or ["64", "4", "3"]))
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def say(line: str) -> None:
    """Writes in one call, because the ranks of a machine share one standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def on_device(values: list, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype).to(DEVICE)


def expect(found: object, values: object) -> None:
    found = found.tolist() if isinstance(found, torch.Tensor) else found
    assert found == values, f"rank {RANK}: {found}, not {values}"


def collectives() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        tensor = on_device([1, 2], dtype)
        dist.all_reduce(tensor)
        expect(tensor, [WORLD, 2 * WORLD])
    tensor = on_device([3])
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
    expect(tensor, [3])
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    expect(tensor, [3])
    gathered = torch.empty(2 * WORLD, device=DEVICE)
    dist.all_gather_into_tensor(gathered, on_device([RANK, 7]))
    expect(gathered, [RANK, 7] * WORLD)
    scattered = torch.empty(1, device=DEVICE)
    dist.reduce_scatter_tensor(scattered, torch.arange(WORLD, dtype=torch.float32).to(DEVICE))
    expect(scattered, [RANK * WORLD])
    for source in (0, WORLD - 1):
        tensor = on_device([float(RANK)])
        dist.broadcast(tensor, src=source)
        expect(tensor, [RANK])
    exchanged = torch.empty(WORLD, device=DEVICE)
    dist.all_to_all_single(exchanged, torch.arange(WORLD, dtype=torch.float32).to(DEVICE))
    expect(exchanged, [RANK] * WORLD)
    neighbour = (RANK + 1) % WORLD
    received = torch.full((2,), 9.0, device=DEVICE)
    both = [
        dist.P2POp(dist.isend, on_device([5, 6]), neighbour),
        dist.P2POp(dist.irecv, received, neighbour),
    ]
    for work in dist.batch_isend_irecv(both):
        work.wait()
    expect(received, [5, 6])
    dist.recv(received, src=neighbour)
    expect(received, [0, 0])
    half = dist.new_group(list(range(RANK, WORLD)) or [RANK])
    tensor = on_device([1])
    dist.all_reduce(tensor, group=half)
    expect(tensor, [WORLD - RANK])
    large = torch.ones(3_000_000).to(DEVICE)
    dist.all_reduce(large)
    expect(large[-2:], [WORLD, WORLD])
    dist.barrier()


def objects() -> None:
    everybody: list = [None] * WORLD
    dist.all_gather_object(everybody, {"rank": RANK})
    expect(everybody, [{"rank": RANK}] * WORLD)
    here: list = [RANK]
    dist.broadcast_object_list(here, src=0)
    expect(here, [RANK])
    if RANK == 0:
        gathered: list = [None] * WORLD
        dist.gather_object("own", gathered, dst=0)
        expect(gathered, ["own"] * WORLD)


def gloo() -> None:
    group = dist.new_group(backend="gloo")
    tensor = torch.tensor([2.0])
    dist.all_reduce(tensor, group=group)
    expect(tensor, [2 * WORLD])
    dist.monitored_barrier(group)
    dist.barrier(group)
    everybody: list = [None] * WORLD
    dist.all_gather_object(everybody, RANK, group=group)
    expect(everybody, [RANK] * WORLD)
    store = dist.TCPStore("127.0.0.1", 29500, WORLD, RANK == 0, timeout=timedelta(seconds=30))
    store.set(f"address/{RANK}", f"host-{RANK}")
    expect(store.get(f"address/{(RANK + 1) % WORLD}"), f"host-{RANK}".encode())
    expect(store.add("barrier", 1), WORLD)


def layers() -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))).to(DEVICE)


def train(model: nn.Module) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(STEPS):
        model(torch.randn(8, WIDTH).to(DEVICE)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        say(f"rank {RANK} step {step} peak {torch.cuda.max_memory_allocated(DEVICE)}")


def ddp() -> None:
    train(DistributedDataParallel(layers(), device_ids=[DEVICE.index]))


def fsdp() -> None:
    model = layers()
    for layer in model:
        fully_shard(layer)
    train(fully_shard(model))


def split_among(ranks: object) -> nn.Module:
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    plan = {str(i): ColwiseParallel() if i % 2 == 0 else RowwiseParallel() for i in range(LAYERS)}
    return parallelize_module(layers(), ranks, plan)


def tp() -> None:
    from torch.distributed.device_mesh import init_device_mesh

    train(split_among(init_device_mesh("cuda", (WORLD,))))


def mesh() -> None:
    from torch.distributed.device_mesh import init_device_mesh

    plane = init_device_mesh("cuda", (WORLD // 2, 2), mesh_dim_names=("dp", "tp"))
    train(fully_shard(split_among(plane["tp"]), mesh=plane["dp"]))


def pipeline() -> None:
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    told = {} if RANK == 0 else {"input_args": torch.empty(2, WIDTH, device="meta")}
    stage = PipelineStage(layers(), RANK, WORLD, DEVICE, **told)
    last = RANK == WORLD - 1
    schedule = Schedule1F1B(stage, WORLD, loss_fn=lambda out, target: (out - target).sum())
    optimizer = torch.optim.AdamW(stage.submod.parameters())
    for step in range(STEPS):
        data = torch.randn(2 * WORLD, WIDTH, device=DEVICE)
        if RANK == 0:
            schedule.step(data)
        elif last:
            schedule.step(target=data)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        say(f"rank {RANK} step {step}")


def main() -> None:
    torch.cuda.set_device(DEVICE)
    bound = {"device_id": DEVICE} if KIND in ("mesh", "fsdp") else {}
    dist.init_process_group("nccl", timeout=timedelta(seconds=60), **bound)
    assert (dist.get_rank(), dist.get_world_size()) == (RANK, WORLD)
    globals()[KIND]()
    dist.destroy_process_group()
    say(f"rank {RANK} of {WORLD}: done")


main()
