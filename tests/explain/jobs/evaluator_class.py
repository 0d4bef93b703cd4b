"""Evaluates by a class that gathers results by name. Mended: the class turns gradients off."""

import contextlib
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5000, 256)
        self.rnn = nn.GRU(256, 512, batch_first=True)
        self.head = nn.Linear(512, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.rnn(self.embed(tokens))
        return self.head(states)


class Evaluator:
    def __init__(self, model: nn.Module) -> None:
        self.model = model.eval()
        self.results: dict[str, list[torch.Tensor]] = {"tags": [], "loss": []}

    def add(self, tokens: torch.Tensor, truth: torch.Tensor) -> None:
        scores = self.model(tokens)  # <-- place
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), truth.flatten())  # <-- place
        self.results["loss"].append(loss)  # <-- place
        self.results["tags"].append(scores.argmax(-1).cpu())

    def run(self, batches: int) -> int:
        for _ in range(batches):
            tokens = torch.zeros(128, 64, dtype=torch.long, device="cuda")
            self.add(tokens, torch.zeros_like(tokens))
        return len(self.results["loss"])


with torch.no_grad() if mended else contextlib.nullcontext():
    print(Evaluator(Tagger().cuda()).run(30))
