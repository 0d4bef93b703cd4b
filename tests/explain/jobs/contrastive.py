"""Contrastive loss over a large batch: every picture against every text. Mended: small batch."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class TwoTowers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pictures = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64))
        self.texts = nn.Sequential(nn.Linear(96, 128), nn.ReLU(), nn.Linear(128, 64))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, pictures: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        a = nn.functional.normalize(self.pictures(pictures), dim=-1)
        b = nn.functional.normalize(self.texts(texts), dim=-1)
        similarity = a @ b.t()  # <-- place
        logits = self.scale.exp() * similarity  # <-- place
        target = torch.arange(len(logits), device=logits.device)
        one = nn.functional.cross_entropy(logits, target)  # <-- place
        other = nn.functional.cross_entropy(logits.t(), target)  # <-- place
        return (one + other) / 2


towers = TwoTowers().cuda()
optimizer = torch.optim.AdamW(towers.parameters())
n = 1024 if mended else 8192
for step in range(3):
    loss = towers(torch.randn(n, 128, device="cuda"), torch.randn(n, 96, device="cuda"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
