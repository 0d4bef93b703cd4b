"""Registers a method of each request as its finalizer, which keeps the request alive.

Mended: the finalizer does not refer to the request.
"""

import sys
import weakref

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Request:
    done = 0

    def __init__(self, rows: int) -> None:
        self.features = torch.randn(rows, 1024, device="cuda")  # <-- place
        if mended:
            weakref.finalize(self, Request.count)
        else:
            weakref.finalize(self, self.close)  # <-- place

    @staticmethod
    def count() -> None:
        Request.done += 1

    def close(self) -> None:
        Request.done += 1


model = nn.Linear(1024, 64).cuda().eval()
with torch.no_grad():
    for _number in range(45):
        request = Request(4096)
        scores = model(request.features).softmax(dim=1)
        del request
print(Request.done, "requests are gone")
