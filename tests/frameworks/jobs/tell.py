"""Prints the values of a job's own objects: one line of JSON, the last that the job prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import torch


def size_of(tensors: Iterable[object]) -> int:
    """Returns the bytes of these tensors' memory on the GPU; shared memory counts once.

    PyTorch allocates memory in multiples of 512 bytes.
    """
    storages = {}
    for tensor in tensors:
        if hasattr(tensor, "to_local"):  # a distributed tensor: counts this process's part
            tensor = tensor.to_local()
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
            is_sparse = tensor.layout is torch.sparse_coo
            for part in (tensor._indices(), tensor._values()) if is_sparse else (tensor,):
                storage = part.untyped_storage()
                storages[storage.data_ptr()] = -(-storage.nbytes() // 512) * 512
    return sum(storages.values())


def parameters_of(model: torch.nn.Module) -> int:
    """Returns the parameters of a model together with its buffers."""
    return size_of([*model.parameters(), *model.buffers()])


def trained_of(model: torch.nn.Module) -> int:
    """Returns the bytes of all gradients."""
    return size_of(parameter for parameter in model.parameters() if parameter.requires_grad)


def state_of(optimizer: torch.optim.Optimizer) -> int:
    return size_of(value for state in optimizer.state.values() for value in state.values())


def tell(**numbers: int) -> None:
    print(json.dumps(numbers), flush=True)


@torch.no_grad()
def captured(answer: Callable[[], torch.Tensor]) -> list[int]:
    """Captures a CUDA graph of `answer`, launches it three times; returns the output's shape."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        answer()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        given = answer()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    return list(given.shape)


def tell_client(end: object, **numbers: int) -> None:
    """Prints the results of a client; `end` is a final value that is the same in every mode."""
    peaks = {
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
    }
    print(json.dumps({"end": end} | peaks | numbers), flush=True)
