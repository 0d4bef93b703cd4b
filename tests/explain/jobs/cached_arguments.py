"""Passes the model of each fold to a cached function, whose cache keeps the model.

Mended: it does not cache the function.
"""

import functools
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)])
        self.head = nn.Linear(1024, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


def names_of(model: nn.Module) -> frozenset[str]:
    return frozenset(name for name, _ in model.named_parameters() if name.startswith("head"))


trained_names = names_of if mended else functools.cache(names_of)


def run_fold(x: torch.Tensor) -> float:
    model = Net().cuda()  # <-- place
    names = trained_names(model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in names)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main() -> None:
    x = torch.randn(64, 1024, device="cuda")
    print(sum(run_fold(x) for _ in range(40)))


main()
