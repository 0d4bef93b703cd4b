"""Compares vramstow's live values with torch.cuda's, after every kind of change to memory.

With `fork` a forked worker does it, too; with `after` a child is forked once CUDA is in use.
"""

from __future__ import annotations

import os
import sys

import torch
import vramstow

MIB = 1 << 20
# Maps a name in vramstow.Stats to a key of torch.cuda.memory_stats.
SAME = {
    "allocated_bytes": "allocated_bytes.all.current",
    "peak_allocated_bytes": "allocated_bytes.all.peak",
    "reserved_bytes": "reserved_bytes.all.current",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
    "live_blocks": "allocation.all.current",
    "allocations": "allocation.all.allocated",
    "frees": "allocation.all.freed",
    "out_of_memory": "num_ooms",
    "retries": "num_alloc_retries",
}
compared = 0


def compare(what: str) -> None:
    global compared
    for device in range(torch.cuda.device_count()):
        theirs = torch.cuda.memory_stats(device)
        ours = vramstow.stats(device)
        if ours is None:
            assert theirs.get("allocation.all.allocated", 0) == 0, (what, device)
            continue
        for name, key in SAME.items():
            assert getattr(ours, name) == theirs[key], (what, device, name, ours, theirs[key])
        active = theirs["active_bytes.all.current"] - theirs["allocated_bytes.all.current"]
        assert ours.pending_bytes == active, (what, device, ours, active)
        if active == 0:
            assert ours.requested_bytes == theirs["requested_bytes.all.current"], (what, device)
        assert ours.misses is None and ours.limit_bytes is None, ours
        compared += 1


def reset_theirs() -> None:
    for device in range(torch.cuda.device_count()):
        torch.cuda.reset_peak_memory_stats(device)


def reset() -> None:
    assert vramstow.reset_peaks()
    reset_theirs()


def work(device: int) -> None:
    torch.cuda.set_device(device)
    sizes = [1, 513, 4000, MIB - 1, 3 * MIB, 11 * MIB, 21 * MIB + 5]
    kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in sizes]
    compare("allocated")
    del kept[1::2]
    compare("freed")
    reset()
    compare("peaks reset")
    kept.append(torch.empty(5 * MIB, dtype=torch.uint8, device="cuda"))
    compare("grown after the reset")
    other = torch.cuda.Stream()
    lent = torch.empty(2 * MIB, dtype=torch.uint8, device="cuda")
    lent.record_stream(other)
    del lent
    compare("freed while another stream may use it")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    compare("cache given back")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inside = torch.zeros(MIB, device="cuda")
        compare("while a graph is captured")
    compare("captured")
    del graph, inside
    compare("graph gone")
    # PyTorch's cache leaves too little memory for the request, so PyTorch releases cached memory
    # and tries again.
    del kept[:]
    cached = [torch.empty(180 * MIB, dtype=torch.uint8, device="cuda") for _ in range(4)]
    del cached
    large = torch.empty(700 * MIB, dtype=torch.uint8, device="cuda")
    compare("served at the second try")
    try:
        torch.empty(4096 * MIB, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        compare("out of memory")
    else:
        raise AssertionError("there is too much memory")
    del large
    with vramstow.track("piece") as piece:
        new = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
    assert piece.allocated_bytes == 3 * MIB and piece.added_peak_bytes == 3 * MIB, str(piece)
    assert [block.address for block in piece.new_blocks] == [new.data_ptr()], piece.new_blocks
    reset_theirs()
    compare("after a track")


def main() -> None:
    assert vramstow.stats() is None
    assert vramstow.why_not()
    if "fork" in sys.argv:
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0, "the worker failed"
    for device in range(torch.cuda.device_count()):
        work(device)
    both = vramstow.stats()
    each = [vramstow.stats(device) for device in range(torch.cuda.device_count())]
    assert both.allocated_bytes == sum(one.allocated_bytes for one in each)
    assert both.misses is None
    numbers = vramstow.scalars()
    assert numbers["vramstow/allocated_bytes"] == both.allocated_bytes
    assert "vramstow/misses" not in numbers and "vramstow/offloaded_bytes" not in numbers
    if "after" in sys.argv:
        child = os.fork()
        if child == 0:
            assert vramstow.stats() is None, "these numbers are the parent's"
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        compare("after a fork")
    print(compared, "comparisons")


main()
