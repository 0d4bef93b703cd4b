"""Garbage whose finalizers are hostile, and a program that observes its collector.

argv: the kind of garbage (a function below).
"""

from __future__ import annotations

import atexit
import builtins
import gc
import os
import sys
import threading
import time

import torch

BLOCK = 8 * 1024 * 1024  # number of floats, which take 32 MiB
ROUNDS = 60
gc.set_threshold(1_000_000)  # Python does not collect by itself
torch.cuda.init()


class Holder:
    def __init__(self) -> None:
        self.cycle = self
        self.data = torch.empty(BLOCK, device="cuda")


class Raises(Holder):
    def __del__(self) -> None:
        raise ValueError("from a finalizer")


class Allocates(Holder):
    """Allocates while it is collected, although memory is exhausted."""

    def __del__(self) -> None:
        try:
            torch.empty(64 * BLOCK, device="cuda")
        except torch.OutOfMemoryError:
            failures.append(1)


class Resurrects(Holder):
    def __del__(self) -> None:
        if not risen:
            risen.append(self)


class Collects(Holder):
    def __del__(self) -> None:
        gc.collect()


class Waits(Holder):
    """Waits for a thread that allocates."""

    def __del__(self) -> None:
        if len(failures) > 3:
            return
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()


def ask() -> None:
    try:
        torch.empty(256, device="cuda")
    except torch.OutOfMemoryError:
        failures.append(1)


failures: list[int] = []
risen: list[Holder] = []


def run(kind: type[Holder]) -> None:
    for _ in range(ROUNDS):
        kind()


def raises() -> None:
    sys.unraisablehook = lambda about: failures.append(1)
    run(Raises)
    print("told", len(failures) > 0)


def allocates() -> None:
    run(Allocates)
    print("failed", len(failures) > 0)


def resurrects() -> None:
    run(Resurrects)
    print("risen", len(risen), risen[0].data.shape[0])


def collects() -> None:
    run(Collects)


def waits() -> None:
    try:
        run(Waits)
    except torch.OutOfMemoryError:  # the wait for it has a limit
        failures.extend([1] * 4)
    print("failed", len(failures) > 3)


def watched() -> None:
    """Callbacks run as for any collection; counts that the program sets are unchanged."""
    phases: list[str] = []
    gc.callbacks.append(lambda phase, about: phases.append(f"{phase} {about['generation']}"))
    run(Holder)
    print("phases", phases[:2], "threshold", gc.get_threshold(), "enabled", gc.isenabled())


def alive() -> None:
    """Nothing is garbage: no finalizer and no callback runs, and the error is the usual one."""
    calls: list[str] = []
    gc.callbacks.append(lambda phase, _: calls.append(phase))
    other = Raises.__new__(Raises)
    other.cycle = other  # a dead cycle that holds no memory
    del other
    sys.unraisablehook = lambda about: calls.append("finalizer")
    kept = []
    try:
        for _ in range(ROUNDS):
            kept.append(torch.empty(BLOCK, device="cuda"))
    except torch.OutOfMemoryError as error:
        calls.append(str(error)[:18])
    sys.unraisablehook = sys.__unraisablehook__
    print(calls, len(kept) > 8)


def too_large() -> None:
    """A request that is larger than any GPU is refused at once."""
    phases: list[str] = []
    gc.callbacks.append(lambda phase, _: phases.append(phase))
    Holder()
    try:
        torch.empty(10**12, device="cuda")
    except torch.OutOfMemoryError:
        print("refused", phases)


def forks() -> None:
    """Children are forked while garbage is collected."""

    def work() -> None:
        run(Holder)

    worker = threading.Thread(target=work)
    worker.start()
    states = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            try:
                Holder()
            except RuntimeError:  # a forked child has no CUDA
                os._exit(0)
            os._exit(1)
        states.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        time.sleep(0.01)
    worker.join()
    print("children", states)


def ends() -> None:
    """The program ends while its last objects fill the GPU with garbage as they are destroyed."""

    class Last:
        def __del__(self) -> None:
            try:
                run(Holder)
            except torch.OutOfMemoryError:
                failures.append(1)

    kept = [Holder() for _ in range(20)]
    atexit.register(lambda: run(Holder))
    builtins.last = (Last(), kept)  # type: ignore[attr-defined]


def captures() -> None:
    """During a graph capture nothing is collected, because a finalizer might break the capture."""
    phases: list[str] = []
    graph = torch.cuda.CUDAGraph()
    given = torch.zeros(256, device="cuda")
    with torch.cuda.graph(graph):
        out = given + 1
        for _ in range(4):
            Holder()
        gc.callbacks.append(lambda phase, _: phases.append(phase))
        try:
            torch.empty(28 * BLOCK, device="cuda")
        except torch.OutOfMemoryError:
            phases.append("out of memory")
    gc.callbacks.clear()
    graph.replay()
    torch.cuda.synchronize()
    print("captured", phases, out.shape[0])


globals()[sys.argv[1]]()
print("done", sys.argv[1])
