"""Searches for the largest batch, and keeps the errors, whose frames hold tensors.

Mended: it keeps the errors' texts.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
errors = []


def try_batch(model: nn.Module, size: int) -> None:
    hidden = torch.randn(size, 2048, device="cuda")  # <-- place
    for layer in model:
        hidden = layer(hidden)  # <-- place
    hidden.sum().backward()


def largest(model: nn.Module) -> int:
    size = 16_384
    while size:
        try:
            try_batch(model, size)  # <-- place
            break
        except torch.OutOfMemoryError as error:
            errors.append(str(error) if mended else error)  # <-- place
            model.zero_grad()
            size //= 2
    return size


layers = [nn.Sequential(nn.Linear(2048, 2048), nn.ReLU()) for _ in range(6)]
size = largest(nn.ModuleList(layers).cuda())
print("largest", size, "after", len(errors), "errors")
if size < 1024:
    raise errors[-1] if isinstance(errors[-1], BaseException) else RuntimeError(errors[-1])
