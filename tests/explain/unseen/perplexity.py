"""Perplexity of a text from the logits of all batches together. Mended: a loss of each batch."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class LanguageModel(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.mix(self.words(text))))  # <-- place


@torch.no_grad()
def perplexity(model: LanguageModel, batches: int) -> float:
    logits, targets, losses = [], [], []
    for _ in range(batches):
        text = torch.randint(8192, (4, 513), device="cuda")
        scores = model(text[:, :-1])
        if mended:
            losses.append(F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten()).item())
            continue
        logits.append(scores.flatten(0, 1))  # <-- place
        targets.append(text[:, 1:].flatten())
    if mended:
        return sum(losses) / len(losses)
    return F.cross_entropy(torch.cat(logits), torch.cat(targets)).item()


print(perplexity(LanguageModel(8192, 256).cuda().eval(), 14))
