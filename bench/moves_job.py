"""One job of bench/moves.py by one means: moves_job.py JOB MEANS [--steps N] [--tiny] [--results]

Prints a line of JSON after each step, with the simulated device's time in nanoseconds, and one at
the end with what was held. The last line of a job that runs out of memory says so.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys

import torch
from moves_means import MEANS
from moves_models import JOBS


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def run(options: argparse.Namespace) -> None:
    clock = ctypes.CDLL("libcuda.so.1").vramstowSimulatorTime
    clock.restype = ctypes.c_uint64
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.set_default_device("cuda")
    means = MEANS[options.means]
    job = JOBS[options.job](options.tiny, means.place)
    step = means.steps_of(job)
    for number in range(options.steps):
        result = step()
        torch.cuda.synchronize()
        more = {"result": result.item()} if options.results else {}
        tell(step=number, time_ns=clock(), **more)
    free, total = torch.cuda.mem_get_info()
    tell(
        parameters=sum(each.numel() for model in job.models for each in model.parameters()),
        allocated_bytes=torch.cuda.max_memory_allocated(),
        reserved_bytes=torch.cuda.max_memory_reserved(),
        outside_bytes=total - free - torch.cuda.memory_reserved(),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("means", choices=MEANS)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--tiny", action="store_true", help="a job of some MiB")
    parser.add_argument("--results", action="store_true", help="tell the loss of each step")
    options = parser.parse_args()
    try:
        run(options)
    except torch.OutOfMemoryError as error:
        tell(out_of_memory=str(error).splitlines()[0])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
