"""Implements label smoothing in several operations over a large vocabulary.

Mended: it uses PyTorch's implementation.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class SmoothLoss(nn.Module):
    def __init__(self, classes: int, smoothing: float = 0.1) -> None:
        super().__init__()
        self.classes, self.smoothing = classes, smoothing

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        if mended:
            return nn.functional.cross_entropy(logits, target, label_smoothing=self.smoothing)
        log_probs = logits.log_softmax(-1)  # <-- place
        smooth = torch.zeros_like(log_probs).fill_(self.smoothing / (self.classes - 1))  # <-- place
        smooth = smooth.scatter(1, target.unsqueeze(1), 1 - self.smoothing)  # <-- place
        return (-smooth * log_probs).sum(-1).mean()  # <-- place


embed = nn.Embedding(32_000, 64).cuda()
head = nn.Linear(64, 32_000, bias=False).cuda()
criterion = SmoothLoss(32_000)
optimizer = torch.optim.SGD([*embed.parameters(), *head.parameters()], lr=0.1)
for step in range(3):
    tokens = torch.zeros(1024, dtype=torch.long, device="cuda")
    criterion(head(embed(tokens)), tokens).backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
