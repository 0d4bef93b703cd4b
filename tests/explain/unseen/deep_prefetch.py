"""A prefetcher moves the next batches to the card ahead of time. Mended: two, not sixty-four."""

import sys
from collections import deque
from collections.abc import Iterator

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Prefetcher:
    def __init__(self, source: Iterator[torch.Tensor], depth: int) -> None:
        self.source = source
        self.depth = depth
        self.ready: deque[torch.Tensor] = deque()

    def __iter__(self) -> Iterator[torch.Tensor]:
        while True:
            while len(self.ready) < self.depth:
                batch = next(self.source, None)
                if batch is None:
                    break
                self.ready.append(batch.cuda(non_blocking=True))  # <-- place
            if not self.ready:
                return
            yield self.ready.popleft()


def batches(count: int) -> Iterator[torch.Tensor]:
    for _ in range(count):
        yield torch.zeros(256, 3, 64, 64)


model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = Prefetcher(batches(70), depth=2 if mended else 64)
for images in loader:
    loss = model(images).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("epoch done")
