"""Creates objects that refer to themselves and hold tensors, more than the GPU's memory.

argv: the kind of objects (a function below), and the number of rounds.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable

import torch

MIB = 1024 * 1024
BLOCK = 8 * MIB  # number of floats, which take 32 MiB
gc.set_threshold(1_000_000)  # Python does not collect by itself


class Holder:
    def __init__(self, make: Callable[[], torch.Tensor]) -> None:
        self.cycle = self
        self.data = make()


class Layer(torch.nn.Module):
    def __init__(self, parent: Model) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(BLOCK, device="cuda"))
        self.__dict__["parent"] = parent


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer(self)


def empty() -> torch.Tensor:
    return torch.empty(BLOCK, device="cuda")


def plain(times: int) -> None:
    for _ in range(times):
        Holder(empty)


def models(times: int) -> None:
    for _ in range(times):
        Model()


def old(times: int) -> None:
    """Uses objects that survived a collection, so they left the young generation."""
    kept: list[Holder] = []
    for _ in range(times // 20):
        kept.extend(Holder(empty) for _ in range(20))
        gc.collect()
        kept.clear()


def graphs(times: int) -> None:
    """Only the graph of a dead tensor holds memory."""
    weight = torch.empty(2048, 2048, device="cuda", requires_grad=True)
    for _ in range(times):
        Holder(lambda: (weight @ weight).exp().sum())


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, given: torch.Tensor) -> torch.Tensor:
        return given * 2

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, given: torch.Tensor) -> torch.Tensor:
        Holder(empty)
        return given * 2


def backward(times: int) -> None:
    """Memory runs out in a thread of autograd."""
    weight = torch.empty(1024, device="cuda", requires_grad=True)
    for _ in range(times):
        Doubled.apply(weight).sum().backward()


def with_lock(times: int) -> None:
    """A function in C allocates while it holds Python's lock."""
    torch.cuda.init()
    for _ in range(times):
        Holder(lambda: torch._C._dynamo.guards._empty_strided_cuda((BLOCK,), (1,), torch.float32))


def threads(times: int) -> None:
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            gc.collect(1)
            time.sleep(0.001)

    collector = threading.Thread(target=collect)
    collector.start()
    workers = [threading.Thread(target=plain, args=(times,)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    stop.set()
    collector.join()


def quarrel(times: int) -> None:
    """Eight threads allocate without a collector."""
    failed: list[str] = []

    def work() -> None:
        try:
            plain(times)
        except torch.OutOfMemoryError as error:
            failed.append(str(error))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("failed", len(failed))


def disabled(times: int) -> None:
    gc.disable()
    plain(times)


def frozen(times: int) -> None:
    kept = [Holder(empty) for _ in range(4)]
    del kept
    gc.freeze()
    plain(times)


globals()[sys.argv[1]](int(sys.argv[2]))
print("done", sys.argv[1])
