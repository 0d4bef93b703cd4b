"""Truncates backpropagation through time, but the state keeps its history.

Mended: it detaches the state.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Cell(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.inner(x) + self.outer(state))


def train(cell: Cell, windows: int) -> None:
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
    state = torch.zeros(2048, 512, device="cuda")
    for _ in range(windows):
        loss = torch.zeros((), device="cuda")
        for _ in range(4):
            x = torch.randn(2048, 512, device="cuda")
            state = cell(x, state)  # <-- place
            loss = loss + state.mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=not mended)
        if mended:
            state = state.detach()


train(Cell(512).cuda(), 40)
print("done")
