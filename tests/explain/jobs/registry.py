"""Adds each request to a list of its class.

Mended: it removes the request from the list at the end.
"""

import sys
from typing import ClassVar

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Request:
    instances: ClassVar[list] = []

    def __init__(self, rows: int) -> None:
        self.rows = rows
        Request.instances.append(self)  # <-- place

    def serve(self, model: nn.Module) -> float:
        self.answer = model(torch.randn(self.rows, 128, device="cuda"))  # <-- place
        if mended:
            Request.instances.remove(self)
        return self.answer.mean().item()


model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 1024)).cuda().eval()
with torch.inference_mode():
    for _ in range(60):
        print(Request(3072).serve(model))
