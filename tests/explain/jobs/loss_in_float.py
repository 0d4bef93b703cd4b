"""Has the logits of a language model in bfloat16, and converts all of them to float for the loss.

Mended: it converts a piece at a time.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def loss_of(logits: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    if mended:
        losses = [
            nn.functional.cross_entropy(piece.float(), answer)
            for piece, answer in zip(logits.split(128), words.split(128), strict=True)
        ]
        return torch.stack(losses).mean()
    return nn.functional.cross_entropy(logits.float(), words)  # <-- place


vocabulary = 50_000
head = nn.Linear(256, vocabulary).cuda().bfloat16()
with torch.no_grad():
    for _step in range(2):
        states = torch.randn(2048, 256, device="cuda", dtype=torch.bfloat16)
        words = torch.randint(vocabulary, (2048,), device="cuda")
        print("loss", loss_of(head(states), words).item())
