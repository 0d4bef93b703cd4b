"""Holds tensors of 8 MiB in many ways, and then allocates more than the free memory."""

import collections
import functools
import types

import torch
from torch import nn

SIZE = 2 * 1024 * 1024  # numbers of 4 bytes


def tensor() -> torch.Tensor:
    return torch.empty(SIZE, device="cuda")


class Slots:
    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept = tensor()


class Shelf:
    shared = None

    def __init__(self) -> None:
        self.books = {"first": tensor()}

    def ask(self) -> None:
        mine = tensor()
        for _ in range(100):
            torch.empty(64 * SIZE, device="cuda")
        print(mine.shape)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x * 2)
        ctx.factor = tensor()
        return x * 2

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


def counter() -> types.FunctionType:
    seen = [tensor()]

    def count() -> int:
        return len(seen)

    return count


def waiting() -> collections.abc.Iterator[int]:
    inner = tensor()
    yield 1
    print(inner.shape)


def fail(depth: torch.Tensor) -> None:
    broken = depth + 1
    raise ValueError(str(broken.shape))


cache = {"kv": [tensor(), tensor()], 7: tensor()}
history = []
weight = torch.empty(SIZE, device="cuda", requires_grad=True)
for _ in range(3):
    history.append((weight * 2).exp().sum())
count = counter()
generator = waiting()
next(generator)
call = functools.partial(print, tensor())
queue = collections.deque([tensor()])
slots = Slots()
Shelf.shared = tensor()
twice = Twice.apply(weight).sum()
model = nn.Sequential(nn.Linear(1024, 2048), nn.Sequential(nn.Linear(2048, 1024)))
model.cuda()
model.register_buffer("table", tensor())
model(torch.randn(4, 1024, device="cuda")).sum().backward()
optimizer = torch.optim.Adam(model.parameters())
optimizer.step()
model[0].register_forward_hook(lambda *_, kept=tensor(): None)  # noqa: B008
shelf = Shelf()
try:
    fail(tensor())
except ValueError:
    shelf.ask()
