"""Runs a script and records every tensor allocation, in order.

python watched.py ALLOCATIONS.json SCRIPT.py and its arguments. Rank 1 of a job writes
ALLOCATIONS.json1. A process that the script starts is recorded if it requests it: `with
watching("child")`.
"""

import contextlib
import json
import os
import runpy
import sys
from collections.abc import Iterator

import torch

TARGET = "WATCHED_TARGET"


@contextlib.contextmanager
def watching(suffix: str) -> Iterator[None]:
    torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
    try:
        yield
    finally:
        torch.cuda.synchronize()
        snapshot = torch.cuda.memory._snapshot()
        requests = [
            [entry["action"], entry["size"]]
            for trace in snapshot["device_traces"]
            for entry in trace
            if entry["action"] in ("alloc", "free_requested", "oom")
        ]
        with open(os.environ[TARGET] + suffix, "w", encoding="utf-8") as file:
            json.dump(requests, file)


def main() -> None:
    os.environ[TARGET], script = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    torch.manual_seed(0)
    with watching(os.environ.get("RANK", "")):
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
