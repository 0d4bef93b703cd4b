"""A minimal inference engine that sleeps: weights and caches are in a MemPool of the engine, which
releases the device memory under them and allocates it again at the same addresses.

Level 1 stores the weights in host memory and drops the caches; level 2 drops both, and the weights
are loaded again. The engine may wake in parts, by tag. It prints everything that a user could
observe.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

MIB = 1 << 20
WEIGHTS, CACHE = 1, 2
MOST = 64


class Sleeper:
    """Manages memory by tag, and what is retained of it during sleep."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "sleep_give", "sleep_take_back")
        self.pool = torch.cuda.MemPool(allocator.allocator())
        self.runtime = torch.cuda.cudart()
        self.kept: dict[int, torch.Tensor] = {}

    @contextmanager
    def tagged(self, tag: int) -> Iterator[None]:
        self.library.sleep_set_tag(tag)
        with torch.cuda.use_mem_pool(self.pool):
            yield
        self.library.sleep_set_tag(0)

    def pieces(self, tag: int) -> list[tuple[int, int]]:
        addresses, sizes = (ctypes.c_uint64 * MOST)(), (ctypes.c_uint64 * MOST)()
        count = self.library.sleep_list(tag, addresses, sizes, MOST)
        assert 0 < count <= MOST, count
        return list(zip(addresses[:count], sizes[:count], strict=True))

    def sleep(self, level: int) -> None:
        torch.cuda.synchronize()
        for tag in (WEIGHTS, CACHE):
            for address, size in self.pieces(tag):
                if tag == WEIGHTS and level == 1:
                    copy = torch.empty(size, dtype=torch.uint8, pin_memory=True)
                    ctypes_copy(self.library, copy.data_ptr(), address, size)
                    self.kept[address] = copy
                assert self.library.sleep_empty(ctypes.c_uint64(address)) == 0
        torch.cuda.empty_cache()

    def wake(self, tag: int) -> None:
        for address, size in self.pieces(tag):
            assert self.library.sleep_fill(ctypes.c_uint64(address)) == 0
            kept = self.kept.pop(address, None)
            if kept is not None:
                ctypes_copy(self.library, address, kept.data_ptr(), size)


def ctypes_copy(library: ctypes.CDLL, to: int, source: int, size: int) -> None:
    """Copies by the runtime, without PyTorch, as engines do it."""
    copy = ctypes.CDLL(None).cudaMemcpy
    assert copy(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), 4) == 0


def free_mib() -> int:
    return torch.cuda.mem_get_info()[0] // MIB


def load(weights: list[torch.Tensor]) -> None:
    for i, weight in enumerate(weights):
        weight.copy_(torch.arange(weight.numel()).fmod(97 + i).view_as(weight))


def main() -> None:
    torch.cuda.init()
    sleeper = Sleeper(sys.argv[1])
    with sleeper.tagged(WEIGHTS):
        weights = [torch.empty(3 * MIB, device="cuda") for _ in range(4)]
    with sleeper.tagged(CACHE):
        cache = [torch.empty(8 * MIB, device="cuda") for _ in range(3)]
    load(weights)
    places = [tensor.data_ptr() for tensor in weights + cache]

    def run(name: str) -> None:
        """Makes one step that also uses ordinary tensors, which the pool serves."""
        for part in cache:
            part.zero_()
        step = [weight[:MIB] * 2 for weight in weights]
        for part, result in zip(cache, step, strict=False):
            part[:MIB].copy_(result)
        sums = [float(tensor.double().sum()) for tensor in weights + cache]
        print(name, sums, places == [tensor.data_ptr() for tensor in weights + cache], flush=True)

    run("awake")
    for level in (1, 2, 1):
        del_cached = free_mib()
        torch.cuda.empty_cache()
        before = max(del_cached, free_mib())
        sleeper.sleep(level)
        print("level", level, "gave", free_mib() - before, "MiB", flush=True)
        # While the engine sleeps, another user of the GPU allocates memory.
        other = torch.full((16 * MIB,), float(level), device="cuda")
        print("beside", float(other.double().sum()), flush=True)
        del other
        torch.cuda.empty_cache()
        sleeper.wake(WEIGHTS)
        if level == 2:
            load(weights)
        print("weights", [float(weight.double().sum()) for weight in weights], flush=True)
        torch.cuda.empty_cache()
        sleeper.wake(CACHE)
        torch.cuda.empty_cache()
        print("took again", before - free_mib(), "MiB", flush=True)
        run("awake")
    print("allocated", torch.cuda.memory_allocated() // MIB, "MiB")
    weights.clear()
    cache.clear()
    sleeper.pool = None
    torch.cuda.empty_cache()
    print("left", sleeper.library.sleep_list(WEIGHTS, None, None, 0))


if __name__ == "__main__":
    main()
