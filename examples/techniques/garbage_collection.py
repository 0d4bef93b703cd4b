"""Reference cycles: their tensors wait for a garbage collector that does not see device memory.

Group: lifetime
Claim: tutorials advise gc.collect() if memory grows without an obvious reason.
Do: Find the cycle (a closure, an exception that is stored, an object that references itself) and
break it; then memory is freed at once. gc.collect() in each step works, too, but costs time in each
step.
Note: The garbage collector counts objects, not bytes: a few small objects can reference gigabytes
of device memory.
"""

import gc

import torch
from workload import iteration, main

STEPS = 12


class Request:
    """Stores the data of a request; `self.undo` closes a cycle."""

    def __init__(self) -> None:
        self.activations = torch.empty(8 << 20, device="cuda")
        self.undo = lambda: self.activations


def before() -> None:
    for number in range(STEPS):
        iteration(number)
        Request()


def collected() -> None:
    for number in range(STEPS):
        iteration(number)
        Request()
        gc.collect()


def after() -> None:
    for number in range(STEPS):
        iteration(number)
        request = Request()
        del request.undo


if __name__ == "__main__":
    main(before=before, collected=collected, after=after)
