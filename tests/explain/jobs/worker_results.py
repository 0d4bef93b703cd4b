"""Computes in a thread, and puts the results into a queue that nobody reads.

Mended: it drops each result after use.
"""

import queue
import sys
import threading

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
results: queue.Queue = queue.Queue()
failed = []


def work(model: nn.Module, jobs: int) -> None:
    try:
        with torch.inference_mode():
            for _ in range(jobs):
                picture = torch.rand(8, 3, 128, 128, device="cuda")
                results.put(model(picture))  # <-- place
                if mended:
                    results.get().mean().item()
    except torch.OutOfMemoryError as error:
        failed.append(str(error))


model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1))
thread = threading.Thread(target=work, args=(model.cuda().eval(), 40))
thread.start()
thread.join()
sys.exit(len(failed))
