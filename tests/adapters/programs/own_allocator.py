"""Checks MemPools with an allocator of the program's own, and PyTorch's guarantees for them."""

from __future__ import annotations

import ctypes
import gc
import sys

import torch

MIB = 1 << 20


def floats(mib: int) -> torch.Tensor:
    return torch.empty(mib * MIB // 4, device="cuda")


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    given = ctypes.c_int.in_dll(library, "own_given")
    taken_back = ctypes.c_int.in_dll(library, "own_taken_back")
    torch.cuda.init()
    own = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "own_give", "own_take_back")
    pool = torch.cuda.MemPool(own.allocator())

    # Blocks are allocated, counted and freed, also while history is recorded.
    with torch.cuda.use_mem_pool(pool):
        small, large = floats(1), floats(8)
    assert given.value == 2, given.value
    assert torch.cuda.memory_allocated() == 9 * MIB
    assert len(pool.snapshot()) == 2
    torch.cuda.memory._record_memory_history()
    del small
    torch.cuda.memory._record_memory_history(None)
    assert torch.cuda.memory_allocated() == 8 * MIB
    assert taken_back.value == 0, "a block inside a segment was taken for one of the pool's"

    # A recorded stream delays the reuse of its block.
    stream = torch.cuda.Stream()
    address = large.data_ptr()
    large.record_stream(stream)
    with torch.cuda.stream(stream):
        large.zero_()
    del large
    gc.collect()
    torch.cuda.synchronize()
    with torch.cuda.use_mem_pool(pool):
        again = floats(8)
    assert again.data_ptr() == address and given.value == 2
    del again

    # With PyTorch's cache disabled, a request bypasses vramstow's pool, and the pool's statistics
    # do not change.
    torch.cuda.caching_allocator_enable(False)
    before = torch.cuda.memory_stats()["requested_bytes.all.allocated"]
    stream_number = torch._C._cuda_getCurrentRawStream(0)
    bypassed = torch._C._cuda_cudaCachingAllocator_raw_alloc(MIB, stream_number)
    assert torch.cuda.memory_stats()["requested_bytes.all.allocated"] == before
    torch._C._cuda_cudaCachingAllocator_raw_delete(bypassed)
    torch.cuda.caching_allocator_enable(True)

    # The allowed fraction of the GPU's memory is a limit for the pool and the program's own
    # allocator together.
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    held = torch.cuda.memory_reserved()
    torch.cuda.set_per_process_memory_fraction((held + 80 * MIB) / total)
    reserve = torch.cuda.MemPool(own.allocator(), use_on_oom=True)
    with torch.cuda.use_mem_pool(reserve):
        kept = floats(40)
    inside = kept.data_ptr()
    common = floats(40)
    try:
        floats(30)
        raise AssertionError("more than the fraction was given")
    except torch.OutOfMemoryError:
        pass
    del kept
    from_reserve = [floats(15), floats(15)]
    assert from_reserve[0].data_ptr() == inside, "the pool for need was not used"
    from_reserve[1].record_stream(stream)
    del from_reserve, common, reserve
    torch.cuda.set_per_process_memory_fraction(1.0)

    # If pools are nested, the innermost pool serves the request.
    outer, inner = torch.cuda.MemPool(), torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(outer):
        first = floats(2)
        with torch.cuda.use_mem_pool(inner):
            second = floats(4)
        third = floats(2)
    sizes = [sum(part["allocated_size"] for part in each.snapshot()) for each in (outer, inner)]
    assert sizes == [4 * MIB, 4 * MIB], sizes
    del first, second, third, outer, inner

    del pool
    torch.cuda.empty_cache()
    assert given.value == taken_back.value, (given.value, taken_back.value)
    print("all is as it should be")


if __name__ == "__main__":
    main()
