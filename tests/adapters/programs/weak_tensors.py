"""Tensors on memory whose own tensor is gone: the caching allocator still has it, so the driver
knows it. Engines that capture a graph for each part of a model store their outputs in this way.
Prints the type of memory that the runtime reports, and the contents of the last tensor."""

from __future__ import annotations

import ctypes
import json

import torch

SIZE = 1024
FLOATS = 4 * SIZE
LARGE = 64 << 20


class Memory:
    """An object from which torch.as_tensor() makes a tensor that does not own its memory."""

    def __init__(self, address: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (SIZE,),
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }


class Attributes(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("device", ctypes.c_int),
        ("device_pointer", ctypes.c_void_p),
        ("host_pointer", ctypes.c_void_p),
        ("reserved", ctypes.c_long * 8),
    ]


def weak(tensor: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(Memory(tensor.data_ptr()), device="cuda")


def type_at(address: int) -> int:
    runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
    told = Attributes()
    place = ctypes.c_void_p(address)
    assert runtime.cudaPointerGetAttributes(ctypes.byref(told), place) == 0
    return told.type


def weak_output_of_a_graph() -> float:
    numbers = torch.full((SIZE,), 3.0, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = numbers * 2
        output = weak(output)
    again = weak(output)  # the first tensor has been gone since the capture
    del output
    graph.replay()
    return again.sum().item() / SIZE


def types_of_freed_memory() -> dict[str, int]:
    small = torch.empty(SIZE, device="cuda")
    beside = torch.empty(SIZE, device="cuda")
    large = torch.empty(LARGE, dtype=torch.uint8, device="cuda")
    places = {"small": small.data_ptr(), "large": large.data_ptr() + FLOATS}
    del small, large
    types = {name: type_at(place) for name, place in places.items()}
    torch.cuda.empty_cache()
    del beside
    return types | {"given back": type_at(places["large"])}


print(json.dumps({"types": types_of_freed_memory(), "output": weak_output_of_a_graph()}))
