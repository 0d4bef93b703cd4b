"""Keeps the context of each request, in which a context variable holds the features.

Mended: the context variable holds a number.
"""

import contextvars
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

features: contextvars.ContextVar = contextvars.ContextVar("features")


def handle(encoder: nn.Module) -> None:
    found = encoder(torch.randn(4096, 256, device="cuda"))  # <-- place
    features.set(found.mean().item() if mended else found)  # <-- place


encoder = nn.Linear(256, 1024).cuda().eval()
contexts: list[contextvars.Context] = []
with torch.no_grad():
    for _ in range(60):
        context = contextvars.copy_context()
        context.run(handle, encoder)  # <-- place
        contexts.append(context)  # <-- place
print(len(contexts), "contexts")
