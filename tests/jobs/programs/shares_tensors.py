"""Two processes write a shared tensor by turns, and each checks what the other has written.

shares_tensors.py ROUNDS MIB. The shared tensor is sent by torch.multiprocessing, which exchanges a
handle of cuIpc. MIB is the size of a tensor of each process that only it uses, and checks, too.
"""

from __future__ import annotations

import sys

import torch
import torch.multiprocessing as multiprocessing

SHARED = 4 << 20


def pattern(number: int, count: int) -> torch.Tensor:
    return torch.arange(count, dtype=torch.int32) + 7919 * number


def check(tensor: torch.Tensor, number: int) -> None:
    if not torch.equal(tensor.cpu(), pattern(number, tensor.numel())):
        raise SystemExit("wrong bytes")


def other(inbox: multiprocessing.Queue, outbox: multiprocessing.Queue, mib: int) -> None:
    shared = inbox.get()
    own = pattern(1, mib << 18).cuda()
    while (number := inbox.get()) >= 0:
        check(shared, number)
        check(own, 1)
        shared.copy_(pattern(number + 1, SHARED))
        torch.cuda.synchronize()
        outbox.put(number + 1)


def main() -> None:
    rounds, mib = (int(text) for text in sys.argv[1:3])
    context = multiprocessing.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=other, args=(inbox, outbox, mib))
    process.start()
    shared = pattern(0, SHARED).cuda()
    own = pattern(2, mib << 18).cuda()
    inbox.put(shared)
    number = 0
    for done in range(rounds):
        inbox.put(number)
        number = outbox.get() + 1
        check(shared, number - 1)
        check(own, 2)
        shared.copy_(pattern(number, SHARED))
        torch.cuda.synchronize()
        print("round", done, flush=True)
    inbox.put(-1)
    process.join()
    if process.exitcode != 0:
        raise SystemExit(f"the other process ended with status {process.exitcode}")
    print("all bytes right", flush=True)


if __name__ == "__main__":
    main()
