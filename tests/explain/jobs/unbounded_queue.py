"""Loads batches in a thread into a queue without a bound.

Mended: the queue has room for one batch.
"""

import queue
import sys
import threading
import time

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

batches: queue.Queue = queue.Queue(1 if mended else 0)
END = 60


def load() -> None:
    for _ in range(END):
        batch = torch.randn(4096, 1024, device="cuda")  # <-- place
        batches.put(batch)  # <-- place
    batches.put(None)


model = nn.Linear(1024, 10).cuda()
loader = threading.Thread(target=load)
failed: list[BaseException] = []
threading.excepthook = lambda about: failed.append(about.exc_value)
loader.start()
while not failed and loader.is_alive() and not mended:
    time.sleep(0.05)  # the model waits for its first batch to be checked
if failed:
    raise failed[0]
with torch.no_grad():
    while (batch := batches.get()) is not None:
        model(batch)
print("done")
