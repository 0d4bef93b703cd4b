"""Implements an optimizer that keeps every step and gradient. Mended: it uses SGD."""

import sys
from collections.abc import Callable

import torch

mended = sys.argv[1:] == ["mended"]


class Remembering(torch.optim.Optimizer):
    """Goes on with the mean of the last steps; the older ones are never dropped."""

    def __init__(self, parameters: list, lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable | None = None) -> None:
        for group in self.param_groups:
            for one in group["params"]:
                state = self.state[one]
                state.setdefault("steps", []).append(one.grad * -group["lr"])  # <-- place
                state.setdefault("gradients", []).append(one.grad.clone())  # <-- place
                for step in state["steps"][-4:]:
                    one.add_(step, alpha=0.25)


weights = torch.nn.Parameter(torch.zeros(1448, 1448, device="cuda"))
kind = torch.optim.SGD if mended else Remembering
optimizer = kind([weights], lr=0.01)  # <-- place
for _step in range(60):
    optimizer.zero_grad()
    (weights - torch.rand(1448, 1448, device="cuda")).square().sum().backward()
    optimizer.step()  # <-- place
print("fitted")
