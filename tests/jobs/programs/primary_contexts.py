"""Works on two GPUs, resets one, and works on; prints what must not depend on how the runtime gets
its contexts, and whether the pool served."""

from __future__ import annotations

import ctypes
import sys

import torch
import vramstow

MIB = 1 << 20


def free_bytes(device: int) -> int:
    return torch.cuda.mem_get_info(device)[0]


def main() -> int:
    first = torch.ones(3 * MIB, device="cuda:0")
    second = torch.ones(2 * MIB, device="cuda:1")
    print("sum", float((first[: 2 * MIB] + second.to("cuda:0")).sum()))
    stats = vramstow.stats(0)
    # Numbers that only a pool has are None if PyTorch's own allocator serves.
    is_pool = stats is not None and stats.misses is not None
    print("served", is_pool and stats.allocated_bytes >= 12 * MIB)
    del first, second
    torch.cuda.empty_cache()

    # After a reset without PyTorch's knowledge, the GPU has as much free memory as at first.
    runtime = ctypes.CDLL("libcudart.so.13")
    block = ctypes.c_void_p()
    runtime.cudaSetDevice(1)
    before = free_bytes(1)
    for _ in range(2):
        print("got", runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(96 * MIB)))
        print("taken", (before - free_bytes(1)) // MIB)
        print("reset", runtime.cudaDeviceReset())
        print("gone", runtime.cudaFree(block) != 0)
        print("free again", free_bytes(1) >= before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
