"""Memory runs out inside a generator, a coroutine, a comprehension and a method of a thread."""

import asyncio
import threading
from collections.abc import Iterator

import torch

SIZE = 2 * 1024 * 1024


def fail() -> None:
    torch.empty(512 * SIZE, device="cuda")


def produce() -> Iterator[int]:
    batch = torch.empty(SIZE, device="cuda")
    yield 1
    fail()
    yield batch.numel()


async def serve() -> None:
    request = torch.empty(SIZE, device="cuda")
    await asyncio.sleep(0)
    fail()
    print(request.numel())


class Worker(threading.Thread):
    def run(self) -> None:
        weights = torch.empty(SIZE, device="cuda")

        def told() -> str:  # its use of `self` puts `self` into a cell
            return f"failed in a thread {self.name}"

        try:
            fail()
        except torch.OutOfMemoryError:
            print(told(), weights.numel())


def attempt(what: str, call: object) -> None:
    try:
        call()
    except torch.OutOfMemoryError:
        print("failed in", what)


producer = produce()
print(next(producer))
attempt("a generator", lambda: next(producer))
attempt("a coroutine", lambda: asyncio.run(serve()))
attempt("a comprehension", lambda: [fail() for _ in range(2)])
worker = Worker()
worker.start()
worker.join()
