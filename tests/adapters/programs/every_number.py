"""Compares all values that PyTorch reports about its memory with each other at every step.

It also compares them with the simulator's call log. Each step ends with an iteration's mark, at
which the trace can be compared with them later. Prints JSON: the keys, and the values at each step.
"""

import csv
import json
import os
import random

import torch
import vramstow

TOLD = ("allocated_bytes", "requested_bytes", "active_bytes", "allocation", "reserved_bytes")


class CallLog:
    """Reads from the simulated driver's own log how many bytes it has allocated so far."""

    def __init__(self) -> None:
        _, _, path = os.environ["VRAMSTOW_SIMULATE"].partition("call-log=")
        self.path = path.replace("%p", str(os.getpid()))
        self.lines = 0
        self.live: dict[str, int] = {}
        self.given = self.taken = 0

    def read(self) -> None:
        with open(self.path, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for row in rows[self.lines :]:
            assert row["result"] == "0", row
            place = row["address"]
            if row["call"] in ("cuMemAlloc", "cuMemCreate"):
                self.given += 1
                self.live[place] = int(row["bytes"])
            elif row["call"] in ("cuMemFree", "cuMemRelease"):
                self.taken += 1
                del self.live[place]
        self.lines = len(rows)


def check(step: int, call_log: CallLog) -> dict[str, int]:
    stats = torch.cuda.memory_stats()
    call_log.read()
    assert stats["reserved_bytes.all.current"] == sum(call_log.live.values()), step
    assert stats["num_device_alloc"] == call_log.given, step
    assert stats["num_device_free"] == call_log.taken, step
    seen: dict[str, int] = {}

    def add(key: str, amount: int) -> None:
        seen[key] = seen.get(key, 0) + amount

    for segment in torch.cuda.memory_snapshot():
        kind = segment["segment_type"] + "_pool"
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"], step
        for part in ("all", kind):
            add(f"allocated_bytes.{part}.current", segment["allocated_size"])
            add(f"active_bytes.{part}.current", segment["active_size"])
            add(f"requested_bytes.{part}.current", segment["requested_size"])
            add(f"reserved_bytes.{part}.current", segment["total_size"])
            for block in segment["blocks"]:
                add(f"allocation.{part}.current", block["state"] == "active_allocated")
                add(f"active.{part}.current", block["state"] != "inactive")
    for key, value in seen.items():
        assert stats[key] == value, (step, key, stats[key], value)
    for key, value in stats.items():
        stem, _, last = key.rpartition(".")
        if last == "current" and "private" not in key:
            assert value <= stats[stem + ".peak"], (step, key)
            freed, allocated = stats[stem + ".freed"], stats[stem + ".allocated"]
            assert allocated - freed == value, (step, key)
    vramstow.iteration(step)
    return {key: stats[f"{key}.all.current"] for key in TOLD}


def main() -> None:
    choose = random.Random(1)
    side = torch.cuda.Stream()
    kept: list[torch.Tensor] = []
    call_log = CallLog()
    steps = []
    for step in range(300):
        if len(kept) < 20 or choose.random() < 0.5:
            size = choose.choice([1, 511, 513, 100_000, 1 << 20, (1 << 20) + 1, 5_000_000])
            kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            if choose.random() < 0.3:
                kept[-1].record_stream(side)
        else:
            kept.pop(choose.randrange(len(kept)))
        if step % 60 == 59:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        steps.append(check(step, call_log))
    summary = torch.cuda.memory_summary()
    assert "Allocated memory" in summary
    free, total = torch.cuda.mem_get_info()
    assert 0 < free < total
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
    torch.cuda.reset_accumulated_memory_stats()
    keys = sorted(torch.cuda.memory_stats())
    print(json.dumps({"keys": keys, "steps": steps}))


if __name__ == "__main__":
    main()
