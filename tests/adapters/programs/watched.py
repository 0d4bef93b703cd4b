"""Run a script and write down every tensor allocation it makes, in order.

python watched.py ALLOCATIONS.json script.py its arguments. Of rank 1 of a job: ALLOCATIONS.json1.
"""

import json
import os
import runpy
import sys

import torch


def main() -> None:
    target, script = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    torch.manual_seed(0)
    torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        torch.cuda.synchronize()
        snapshot = torch.cuda.memory._snapshot()
        requests = [
            [entry["action"], entry["size"]]
            for trace in snapshot["device_traces"]
            for entry in trace
            if entry["action"] in ("alloc", "free_requested", "oom")
        ]
        with open(target + os.environ.get("RANK", ""), "w", encoding="utf-8") as file:
            json.dump(requests, file)


if __name__ == "__main__":
    main()
