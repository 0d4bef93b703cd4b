"""Reads a prompt and wants the next word, but scores each place. Mended: scores the last place."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class LanguageModel(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(4)])
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, prompt: torch.Tensor) -> torch.Tensor:
        hidden = self.layers(self.words(prompt))
        if mended:
            hidden = hidden[:, -1:]
        return self.head(hidden)  # <-- place


@torch.inference_mode()
def next_word(model: LanguageModel, prompt: torch.Tensor) -> torch.Tensor:
    logits = model(prompt)  # <-- place
    return logits[:, -1].argmax(dim=-1)


model = LanguageModel(64_000, 512).cuda().half()
for _ in range(2):
    prompt = torch.randint(64_000, (4, 1024), device="cuda")
    print(tuple(next_word(model, prompt).shape))
