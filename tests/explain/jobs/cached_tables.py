"""Makes a table for each length of text, and lru_cache keeps all of them.

Mended: it keeps only two tables.
"""

import functools
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


@functools.lru_cache(maxsize=2 if mended else None)
def turns(length: int, width: int) -> torch.Tensor:
    place = torch.arange(length, device="cuda", dtype=torch.float32)[:, None]
    angle = place * torch.exp(torch.arange(width, device="cuda") * -0.01)
    return torch.cat([angle.cos(), angle.sin()], dim=1)  # <-- place


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(1000, 16)
        self.out = nn.Linear(16, 4)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        turned = turns(words.shape[1], 1024)  # <-- place
        return self.out((self.table(words) + turned[:, :16]).mean(1))


reader = Reader().cuda()
optimizer = torch.optim.SGD(reader.parameters(), lr=0.01)
for step in range(20):
    words = torch.zeros(4, 2048 + 256 * (step * 7 % 20), dtype=torch.long, device="cuda")
    loss = reader(words).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.shape)
