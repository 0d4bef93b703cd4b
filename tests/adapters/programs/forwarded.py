"""Calls the functions of PyTorch's allocator that an allocator in front of it could break.

python forwarded.py ENTRIES.json. Functions that this release of PyTorch lacks are left out. After
each step vramstow's live values are those of torch.cuda. PyTorch's own history of the blocks
follows in the file, so that it can be compared with the trace.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import torch
import vramstow

MIB = 1 << 20
POINTER = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
SAME = {
    "allocated_bytes": "allocated_bytes.all.current",
    "reserved_bytes": "reserved_bytes.all.current",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
    "live_blocks": "allocation.all.current",
    "out_of_memory": "num_ooms",
}


def bytes_of(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.uint8, device="cuda")


def library_of_allocator() -> str:
    """Returns the file with the code of the allocator that PyTorch calls."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libc10_cuda.so"))
    allocator = ctypes.c_uint64.in_dll(library, POINTER).value
    code = ctypes.c_uint64.from_address(ctypes.c_uint64.from_address(allocator).value).value
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(number, 16) for number in line.split()[0].split("-"))
        if begin <= code < end:
            return Path(line.split()[-1]).name
    return ""


def compare(what: str) -> None:
    theirs = torch.cuda.memory_stats()
    ours = vramstow.stats(0)
    for name, key in SAME.items():
        assert getattr(ours, name) == theirs[key], (what, name, ours, theirs[key])
    pending = theirs["active_bytes.all.current"] - theirs["allocated_bytes.all.current"]
    assert ours.pending_bytes == pending, (what, ours, pending)


def identity() -> None:
    assert library_of_allocator().startswith("torch-observer-"), library_of_allocator()
    assert torch.cuda.get_allocator_backend() == "native"
    # A storage that PyTorch allocates later by itself comes from the same allocator.
    one = bytes_of(100)
    one.untyped_storage().resize_(3 * MIB)
    compare("resized")


def raw_blocks() -> None:
    side = torch.cuda.Stream()
    blocks = [
        torch.cuda.caching_allocator_alloc(1000),
        torch.cuda.caching_allocator_alloc(2 * MIB, stream=side),
        torch.cuda.caching_allocator_alloc(5 * MIB + 7),
    ]
    compare("raw blocks")
    for block in blocks:
        torch.cuda.caching_allocator_delete(block)
    try:
        torch.cuda.caching_allocator_delete(blocks[0])
    except RuntimeError as error:
        assert "invalid device pointer" in str(error), error
    else:
        raise AssertionError("a block was freed twice")
    compare("raw blocks freed")
    with torch.cuda.stream(side):
        kept = [bytes_of(700), bytes_of(MIB + 1)]
    compare("blocks of another stream")
    del kept
    compare("blocks of another stream freed")


def limits() -> None:
    """Lets requests fail, with an observer of the program's own."""
    told: list[tuple[int, ...]] = []
    torch._C._cuda_attach_out_of_memory_observer(lambda *figures: told.append(figures))
    torch.cuda.empty_cache()
    compare("cache given back")
    total = torch.cuda.get_device_properties(0).total_memory
    kept = bytes_of(40 * MIB)
    torch.cuda.set_per_process_memory_fraction(100 * MIB / total)
    if hasattr(torch.cuda, "get_per_process_memory_fraction"):
        assert abs(torch.cuda.get_per_process_memory_fraction() - 100 * MIB / total) < 1e-6
    cached = bytes_of(50 * MIB)
    del cached
    large = bytes_of(55 * MIB)  # the limit makes PyTorch release its cache first
    compare("served at the second try")
    try:
        bytes_of(70 * MIB)
    except torch.cuda.OutOfMemoryError as error:
        assert str(error).startswith("CUDA out of memory. Tried to allocate 70.00 MiB."), error
    else:
        raise AssertionError("more than the limit was given")
    assert len(told) == 1 and told[0][1] >= 70 * MIB, told
    compare("refused")
    torch.cuda.set_per_process_memory_fraction(1.0)
    del kept, large
    torch.cuda.reset_accumulated_memory_stats()
    torch.cuda.reset_peak_memory_stats()
    vramstow.reset_peaks()
    kept = bytes_of(120 * MIB)
    SAME.pop("out_of_memory")  # PyTorch's count began again
    compare("after the totals began again")
    del kept
    torch.cuda.empty_cache()
    compare("given back after the totals began again")


def releases() -> None:
    """Gets the same amount again after each release, which no report of a block shows."""
    for _ in range(3):
        kept = bytes_of(200 * MIB)
        compare("the same amount again")
        del kept
        torch.cuda.empty_cache()
        compare("released")
    if not hasattr(torch, "accelerator") or not hasattr(torch.accelerator, "empty_cache"):
        return
    # These functions reach the allocator through another pointer.
    kept = bytes_of(300 * MIB)
    del kept
    torch.accelerator.empty_cache()
    compare("released through the accelerator")
    if not hasattr(torch.accelerator, "reset_accumulated_memory_stats"):
        return
    kept = bytes_of(20 * MIB)
    torch.accelerator.reset_accumulated_memory_stats()
    more = bytes_of(90 * MIB)
    compare("the totals began again through the accelerator")
    del kept, more


def pools() -> None:
    if not hasattr(torch.cuda, "MemPool"):
        return
    pool = torch.cuda.MemPool()
    try:
        with torch.cuda.use_mem_pool(pool):
            inside = [bytes_of(3 * MIB), bytes_of(100)]
    except RuntimeError as error:  # up to release 2.7
        assert "doesn't currently support expandable_segments" in str(error), error
        return
    compare("a private pool")
    if hasattr(pool, "snapshot"):
        assert sum(part["allocated_size"] for part in pool.snapshot()) == 3 * MIB + 512
    del inside, pool
    gc.collect()
    compare("the private pool is gone")


def threads() -> None:
    """Threads take each other's pieces of segments, so that sizes depend on the order."""

    def work(seed: int) -> None:
        choose = random.Random(seed)
        kept: list[torch.Tensor] = []
        for _ in range(300):
            if len(kept) > 5 or (kept and choose.random() < 0.4):
                kept.pop(choose.randrange(len(kept)))
            kept.append(bytes_of(choose.choice((100, 70_000, MIB + 1, 3_300_000, 9_000_001))))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    compare("threads")
    torch.cuda.empty_cache()
    compare("cache of the threads given back")


def captures() -> None:
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inside = bytes_of(2 * MIB)
        inside.zero_()
        gone = bytes_of(4 * MIB)
        gone.zero_()
        del gone
        compare("while a graph is captured")
    compare("captured")
    lent = bytes_of(6 * MIB)
    lent.record_stream(side)
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000)
    compare("a stream is recorded")
    del lent
    compare("freed while the other stream may use it")
    torch.cuda.synchronize()
    del inside, graph
    kept = bytes_of(100)
    compare("free again")
    del kept


def checkpoints() -> None:
    """Returns to an earlier state of a private pool, as torch.compile does with graphs."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        first = bytes_of(2 * MIB)
        first.zero_()
    pool = graph.pool()
    state = torch._C._cuda_getCheckpointState(0, pool)
    second = torch.cuda.CUDAGraph()
    with torch.cuda.graph(second, pool=pool):
        later = bytes_of(300_000)
        later.zero_()
    # The pool's blocks are freed, and those of the checkpoint are allocated again.
    device = torch.device("cuda", 0)
    again = torch._C._construct_storage_from_data_pointer(first.data_ptr(), device, 2 * MIB)
    stale = [tensor.untyped_storage()._cdata for tensor in (first, later)]
    torch._C._cuda_setCheckpointPoolState(0, state, stale, [again._cdata])
    compare("a checkpoint is restored")
    del first, later, again
    compare("its block is freed")
    del graph, second
    gc.collect()
    torch.cuda.empty_cache()
    compare("the graphs are gone")


def profiles() -> None:
    """PyTorch's profiler still gets the reports that vramstow redirects."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        kept = bytes_of(9 * MIB)
        compare("while it is profiled")
        del kept
    reported = [event.device_memory_usage for event in profile.events()]
    assert 9 * MIB in reported, reported
    compare("profiled")


def forks() -> None:
    kept = [bytes_of(1000) for _ in range(3)]
    child = os.fork()
    if child == 0:
        kept.clear()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    compare("a child dropped its parent's blocks")


STEPS: list[Callable[[], None]] = [
    identity,
    raw_blocks,
    limits,
    releases,
    pools,
    threads,
    captures,
    threads,
    checkpoints,
    profiles,
    forks,
]


def main() -> None:
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
    for step in STEPS:
        step()
    gc.collect()
    entries = [
        [entry["action"], entry["addr"], entry["size"], entry["stream"]]
        for entry in torch.cuda.memory._snapshot()["device_traces"][0]
        if entry["action"] in ("alloc", "free_requested", "free_completed")
    ]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(entries, file)
    print("all is as it should be")


if __name__ == "__main__":
    main()
