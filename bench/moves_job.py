"""A job of moves.py with one technique: moves_job.py JOB MEANS [--steps N] [--tiny] [--results]

Prints a line of JSON after each step, with the simulated device's time in nanoseconds, and one at
the end with the memory held. The last line of a job that runs out of memory says so.
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


class ModelClock(ctypes.Structure):
    """The struct of simulator_api.h."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("time_ns", "link_read_bytes", "out_bytes", "in_bytes", "wait_ns")
    ]


def clock() -> dict[str, int]:
    """Returns the values of the virtual clock; without clock=model only the simulated device's
    time."""
    card = ctypes.CDLL("libcuda.so.1")
    card.vramstowSimulatorTime.restype = ctypes.c_uint64
    now = ModelClock()
    if card.vramstowSimulatorReadModelClock(ctypes.byref(now), ctypes.c_size_t(ctypes.sizeof(now))):
        return {"time_ns": card.vramstowSimulatorTime()}
    return {name: getattr(now, name) for name, _ in ModelClock._fields_}


def run(options: argparse.Namespace) -> None:
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.set_default_device("cuda")
    means = MEANS[options.means]
    job = JOBS[options.job](options.tiny, means.place)
    if options.layers is not None:
        job.layers = options.layers
    step = means.steps_of(job)
    for number in range(options.steps):
        result = step()
        torch.cuda.synchronize()
        more = {"result": result.item()} if options.results else {}
        tell(step=number, **clock(), **more)
    free, total = torch.cuda.mem_get_info()
    tell(
        parameters=sum(each.numel() for model in job.models for each in model.parameters()),
        layers=len(job.models[0].layers),
        allocated_bytes=torch.cuda.max_memory_allocated(),
        reserved_bytes=torch.cuda.max_memory_reserved(),
        outside_bytes=total - free - torch.cuda.memory_reserved(),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("means", choices=MEANS)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--layers", type=int, help="that checkpoints are for; default: all")
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
