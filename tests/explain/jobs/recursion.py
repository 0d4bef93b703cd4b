"""Refines a solution by a recursive function, whose frames keep all their arguments.

Mended: it uses a loop.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Solver(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.correct = nn.Linear(width, width)

    def refine(self, x: torch.Tensor, rounds: int) -> torch.Tensor:
        better = torch.tanh(self.correct(x))  # <-- place
        if rounds == 1:
            return better.mean()
        return self.refine(better, rounds - 1)  # <-- place

    def iterate(self, x: torch.Tensor, rounds: int) -> torch.Tensor:
        for _ in range(rounds):
            x = torch.tanh(self.correct(x))
        return x.mean()


solver = Solver(1024).cuda().eval()
with torch.no_grad():
    start = torch.randn(4096, 1024, device="cuda")
    result = solver.iterate(start, 50) if mended else solver.refine(start, 50)
print(result.item())
