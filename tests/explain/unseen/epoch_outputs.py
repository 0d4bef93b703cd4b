"""Collects what validation gives for the end of the epoch. Mended: only their means."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Segmenter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Linear(256, 1024)
        self.validation_outputs: list[torch.Tensor] = []

    def validation_step(self, x: torch.Tensor) -> None:
        outputs = self.layers(x).softmax(dim=1)  # <-- place
        self.validation_outputs.append(outputs.mean() if mended else outputs)  # <-- place

    def on_validation_end(self) -> float:
        return torch.stack([one.mean() for one in self.validation_outputs]).mean().item()


model = Segmenter().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(12):
    loss = model.layers(torch.randn(64, 256, device="cuda")).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for _ in range(5):
            model.validation_step(torch.randn(4096, 256, device="cuda"))  # <-- place
    print("epoch", epoch, model.on_validation_end())
