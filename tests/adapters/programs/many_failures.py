"""Eight threads run out of memory again and again, while the collector runs. argv: how often."""

import gc
import sys
import threading

import torch

SIZE = 2 * 1024 * 1024
times = int(sys.argv[1])
failures = [0] * 8
stop = threading.Event()


class Node:
    def __init__(self) -> None:
        self.cycle = self
        self.weights = [torch.empty(256, device="cuda") for _ in range(3)]


def collect() -> None:
    while not stop.is_set():
        for _ in range(50):
            Node()
        gc.collect()


def fail(number: int) -> None:
    weight = torch.empty(1024, 64, device="cuda", requires_grad=True)
    for _ in range(times):
        losses = [(weight @ weight.T).exp().sum() for _ in range(2)]
        try:
            torch.empty(512 * SIZE, device="cuda")
        except torch.OutOfMemoryError:
            failures[number] += 1
        losses[0].backward()
        weight.grad = None


collector = threading.Thread(target=collect)
collector.start()
workers = [threading.Thread(target=fail, args=(number,)) for number in range(8)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
stop.set()
collector.join()
print("failed", sum(failures))
