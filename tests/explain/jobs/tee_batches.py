"""Reads the batches twice by itertools.tee, first for their mean, which keeps all of them.

Mended: it makes the batches twice.
"""

import itertools
import sys
from collections.abc import Iterator

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def batches(count: int) -> Iterator[torch.Tensor]:
    generator = torch.Generator(device="cuda").manual_seed(3)
    for _ in range(count):
        yield torch.randn(4096, 1024, device="cuda", generator=generator)  # <-- place


def mean_of(source: Iterator[torch.Tensor]) -> torch.Tensor:
    total = torch.zeros(1024, device="cuda")
    count = 0
    for batch in source:
        total += batch.mean(dim=0)
        count += 1
    return total / count


if mended:
    first, second = batches(45), batches(45)
else:
    first, second = itertools.tee(batches(45))  # <-- place
mean = mean_of(first)  # <-- place
model = nn.Linear(1024, 10).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in second:
    loss = model(batch - mean).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("epoch done")
