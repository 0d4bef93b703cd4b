"""Reference cycles: their tensors wait for a garbage collector that does not see the device.

Group: lifetime
Claim: tutorials advise gc.collect() where memory grows without a reason.
Do: Find the cycle (a closure, an exception that is kept, an object that refers to itself) and
break it: then memory goes at once. gc.collect() in each step works, too, and costs time in each
step.
Note: The collector counts objects, not bytes: gigabytes of the device can hang on a few small
objects.
"""

import gc

import torch
from workload import iteration, main

STEPS = 12


class Request:
    """What a server keeps of a request; `self.undo` closes a cycle."""

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
