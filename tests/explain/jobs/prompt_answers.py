"""Generates token by token, and keeps the scores of every step. Mended: of the last one."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Writer(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, 128)
        self.cell = nn.GRUCell(128, 256)
        self.head = nn.Linear(256, words)

    def forward(self, token: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        state = self.cell(self.embed(token), state)
        return self.head(state), state


@torch.no_grad()
def generate(writer: Writer, count: int, steps: int) -> dict[str, list]:
    result: dict[str, list] = {"scores": [], "tokens": []}
    token = torch.zeros(count, dtype=torch.long, device="cuda")
    state = torch.zeros(count, 256, device="cuda")
    for _ in range(steps):
        scores, state = writer(token, state)  # <-- place
        token = scores.argmax(-1)
        result["tokens"].append(token)
        if mended:
            result["scores"].clear()
        result["scores"].append(scores)  # <-- place
    return result


print(len(generate(Writer(16_000).cuda(), 256, 40)["tokens"]))
