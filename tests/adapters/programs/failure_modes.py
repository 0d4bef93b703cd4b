"""Common mistakes with memory, one by name.

python failure_modes.py NAME
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import torch
from torch import nn

MIB = 1 << 20


def model_of(width: int = 256) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)).cuda()


def step(model: nn.Module, rows: int = 64) -> torch.Tensor:
    loss = model(torch.ones(rows, 256, device="cuda")).square().mean()
    loss.backward()
    return loss


def empties_the_cache_every_step() -> None:
    """Each step allocates its memory from the driver again."""
    model = model_of()
    for number in range(6):
        step(model)
        model.zero_grad()
        torch.cuda.synchronize()
        before = torch.cuda.memory_reserved()
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() < before
        print("step", number)


def halves_the_batch_when_memory_ends() -> None:
    rows = 1024
    while True:
        try:
            kept = torch.empty(rows * MIB, dtype=torch.uint8, device="cuda")
            break
        except torch.OutOfMemoryError as error:
            assert "largest free range" in str(error), error
            print("too many", rows)
            rows //= 2
    print("rows", rows, kept.numel() // MIB)


def deletes_too_late() -> None:
    """`del` follows the next allocation, so for a moment both tensors exist."""
    batch = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    following = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    del batch
    late = torch.cuda.max_memory_allocated() // MIB
    torch.cuda.reset_peak_memory_stats()
    del following
    following = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    print(
        "late", late, "in time", torch.cuda.max_memory_allocated() // MIB, following.numel() // MIB
    )


def keeps_losses_in_a_list() -> None:
    """Each loss holds its graph, and the graph holds its activations."""
    model = model_of()
    losses = []
    levels = []
    for _ in range(8):
        losses.append(model(torch.ones(1024, 256, device="cuda")).square().mean())
        levels.append(torch.cuda.memory_allocated())
    growth = {after - before for before, after in zip(levels, levels[1:])}
    assert len(growth) == 1 and growth.pop() > MIB, levels
    losses = [loss.detach() for loss in losses]
    assert torch.cuda.memory_allocated() < levels[1]
    print("freed", len(losses))


def makes_the_model_twice() -> None:
    model = model_of(2048)
    first = torch.cuda.memory_allocated()
    model = model_of(2048)
    both = torch.cuda.max_memory_allocated()
    assert torch.cuda.memory_allocated() == first and both == 2 * first, (first, both)
    print("twice", both // first, len(model))


def forks_after_cuda_was_used() -> None:
    kept = torch.ones(1000, device="cuda")
    child = os.fork()
    if child == 0:
        try:
            torch.ones(1, device="cuda")
        except RuntimeError as error:
            os._exit(7 if "forked subprocess" in str(error) else 8)
        os._exit(9)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), kept.sum().item())


def exits_with_live_graphs() -> None:
    model = model_of()
    batch = torch.ones(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        model(batch)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(batch)
    graph.replay()
    loss = step(model)
    with torch.no_grad():
        print("leaving", loss.requires_grad, flush=True)
        sys.exit(5)


TROUBLES: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        empties_the_cache_every_step,
        halves_the_batch_when_memory_ends,
        deletes_too_late,
        keeps_losses_in_a_list,
        makes_the_model_twice,
        forks_after_cuda_was_used,
        exits_with_live_graphs,
    )
}

if __name__ == "__main__":
    TROUBLES[sys.argv[1]]()
