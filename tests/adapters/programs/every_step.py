"""Allocates and frees tensors of many sizes, and writes the memory_stats of each step.

python every_step.py STEPS.json. Each step ends with an iteration's mark, at which a trace can be
compared with it. PyTorch's own requests, in order, follow in the same file.
"""

import ctypes
import json
import random
import sys

import torch

KEYS = ("allocation", "allocated_bytes", "requested_bytes", "reserved_bytes", "active_bytes")
SIZES = (
    1,
    100,
    511,
    513,
    5_000,
    300_000,
    1 << 20,
    (1 << 20) + 1,
    3_000_000,
    11_000_000,
    25_000_001,
)


def main() -> None:
    mark = ctypes.CDLL(None).vramstow_iteration
    mark.argtypes = [ctypes.c_uint64]
    torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
    choose = random.Random(3)
    side = torch.cuda.Stream()
    kept: list[torch.Tensor] = []
    steps = []
    for step in range(200):
        for _ in range(20):
            if choose.random() < 0.55 or not kept:
                size = choose.choice(SIZES)
                kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
                if choose.random() < 0.1:
                    kept[-1].record_stream(side)
            else:
                kept.pop(choose.randrange(len(kept)))
        while len(kept) > 60:
            kept.pop(choose.randrange(len(kept)))
        if step % 50 == 49:
            torch.cuda.empty_cache()
        stats = torch.cuda.memory_stats()
        mark(step)
        steps.append([stats[f"{key}.all.current"] for key in KEYS])
    entries = [
        [entry["action"], entry.get("addr"), entry["size"], entry["stream"]]
        for trace in torch.cuda.memory._snapshot()["device_traces"]
        for entry in trace
    ]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"steps": steps, "entries": entries}, file)


if __name__ == "__main__":
    main()
