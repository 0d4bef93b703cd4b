"""Every number that PyTorch tells of its memory, held against the others at every step."""

import json
import random

import torch


def check(step: int) -> None:
    stats = torch.cuda.memory_stats()
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


def main() -> None:
    choose = random.Random(1)
    side = torch.cuda.Stream()
    kept: list[torch.Tensor] = []
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
        check(step)
    summary = torch.cuda.memory_summary()
    assert "Allocated memory" in summary
    free, total = torch.cuda.mem_get_info()
    assert 0 < free < total
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
    torch.cuda.reset_accumulated_memory_stats()
    keys = sorted(torch.cuda.memory_stats())
    print(
        json.dumps(
            {
                "keys": keys,
                "allocated": torch.cuda.memory_allocated(),
                "reserved": torch.cuda.memory_reserved(),
            }
        )
    )


if __name__ == "__main__":
    main()
