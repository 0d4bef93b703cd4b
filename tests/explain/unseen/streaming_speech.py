"""Recognises a stream of speech; the state goes from piece to piece. Mended: under no_grad."""

import contextlib
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Recogniser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(256, 1024)
        self.letters = nn.Linear(1024, 32)

    def forward(
        self, sound: torch.Tensor, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        state = self.cell(sound, state)  # <-- place
        return self.letters(state).argmax(dim=1), state


def recognise(model: Recogniser, pieces: int) -> list[int]:
    state = torch.zeros(512, 1024, device="cuda")
    lengths = []
    for _ in range(pieces):
        letters, state = model(torch.randn(512, 256, device="cuda"), state)  # <-- place
        lengths.append(letters.shape[0])
    return lengths


model = Recogniser().cuda().eval()
with torch.no_grad() if mended else contextlib.nullcontext():
    print(sum(recognise(model, 90)))
