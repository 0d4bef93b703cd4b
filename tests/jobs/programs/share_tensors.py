"""Shares a tensor of two processes by torch.multiprocessing: each writes, the other reads."""

from __future__ import annotations

import torch
import torch.multiprocessing as multiprocessing

BIG = 500_000


def other(inbox: multiprocessing.Queue, outbox: multiprocessing.Queue) -> None:
    shared = inbox.get()
    outbox.put(float(shared.cpu().sum()))
    shared.copy_(torch.arange(shared.numel(), dtype=shared.dtype))
    torch.cuda.synchronize()
    big = inbox.get()
    outbox.put(float(big.cpu()[BIG - 1]))
    del shared, big
    own = torch.full((1000,), 7.0).cuda()
    outbox.put(own)
    inbox.get()


def main() -> None:
    context = multiprocessing.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=other, args=(inbox, outbox))
    process.start()
    mine = torch.tensor([1.0, 2.0, 3.0, 4.0]).cuda()
    free_alone = torch.cuda.mem_get_info()[0]
    inbox.put(mine)
    print("sum there", outbox.get())
    print("the other's context counts", torch.cuda.mem_get_info()[0] < free_alone)
    big = torch.arange(BIG, dtype=torch.float32).cuda()
    inbox.put(big)
    print("last there", outbox.get())
    print("written there", mine.cpu().tolist())
    theirs = outbox.get()
    print("sum here", float(theirs.cpu().sum()))
    del theirs
    inbox.put(None)
    process.join()
    print("exit", process.exitcode)


if __name__ == "__main__":
    main()
