"""Generation that gives back the hidden states of all layers and steps. Mended: the last vector."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(512, 512) for _ in range(6))

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        hidden = []
        for layer in self.layers:
            x = F.gelu(layer(x))  # <-- place
            hidden.append(x)
        return hidden


@torch.inference_mode()
def generate(model: Decoder, steps: int) -> list:
    text = torch.randn(64, 64, 512, device="cuda")
    all_hidden = []
    for _ in range(steps):
        hidden = model(text)
        text = torch.cat([text[:, 1:], hidden[-1][:, -1:]], dim=1)
        all_hidden.append(hidden[-1][:, -1].clone() if mended else tuple(hidden))  # <-- place
    return all_hidden


print(len(generate(Decoder().cuda(), 20)), "steps")
