"""Fine-tunes an encoder; step after step fits until the batch of the longest documents comes.

Mended: long documents come two at a time.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class FeedForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))  # <-- place


encoder = nn.Sequential(*[FeedForward(256) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
for length in (128, 256, 128, 192, 256, 2048):
    parts = 4 if mended and length > 1024 else 1
    for _ in range(parts):
        words = torch.randn(8 // parts, length, 256, device="cuda")
        encoder(words).mean().backward()  # <-- place
    optimizer.step()
    optimizer.zero_grad()
    print("length", length)
