"""Memory runs out although most of it is free: the free memory is in pieces.

Group: fragmentation
Claim: PyTorch's expandable segments, 126.97 → 96.61 GB of a training; GMLake, 15% less reserved;
STAlloc, 85% less fragmentation.
Card: memory=1GiB
Run before: --pool=off
Run expandable: --pool=off
Run after: --pool=on
Dies: before expandable
Do: Run it with --pool=on. Without the pool it helps to allocate long-lived blocks before
short-lived ones.
Note: PyTorch allocates segments of 20 MiB and divides them. One block that stays in each segment is
enough to cause the failure: no segment can be returned, and no piece is large enough. Expandable
segments also map large tensors 20 MiB at a time, so they fail in the same way here; the pool maps 2
MiB at a time. The analyzer reads `before` from the memory snapshot that the script writes when it
fails.
"""

import os
from pathlib import Path

import torch
from workload import main

CACHES = 120
CACHE_BYTES = 6 << 20
BATCH_BYTES = 256 << 20


def serve() -> None:
    """Keeps a cache for each request; most requests end, then a large batch comes."""
    torch.cuda.memory._record_memory_history(stacks="python")
    caches = [torch.empty(CACHE_BYTES, dtype=torch.uint8, device="cuda") for _ in range(CACHES)]
    caches = caches[::3]
    live = torch.cuda.memory_allocated() >> 20
    print(f"{live} MiB are in use, {BATCH_BYTES >> 20} MiB are asked for", flush=True)
    try:
        torch.empty(BATCH_BYTES, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        folder = Path(os.environ.get("VRAMSTOW_TRACE_DIR", "."))
        torch.cuda.memory._dump_snapshot(str(folder / "fragmentation.pickle"))
        raise


def expandable() -> None:
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    serve()


if __name__ == "__main__":
    main(before=serve, expandable=expandable, after=serve)
