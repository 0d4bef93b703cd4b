"""The norm of each example's gradient, all examples at once. Mended: four at a time."""

import sys

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

mended = sys.argv[1:] == ["mended"]


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(1024, 1024)
        self.second = nn.Linear(1024, 1024)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.tanh(self.first(x)))


net = Network().cuda()
weights = {name: value.detach() for name, value in net.named_parameters()}


def loss_of(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return functional_call(net, weights, (x[None],)).square().mean()


def norm_of(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    gradients = grad(loss_of)(weights, x)  # <-- place
    return sum(gradient.square().sum() for gradient in gradients.values()).sqrt()


def norms(x: torch.Tensor) -> torch.Tensor:
    chunk = 4 if mended else None
    return vmap(norm_of, in_dims=(None, 0), chunk_size=chunk)(weights, x)  # <-- place


for _ in range(2):
    print(tuple(norms(torch.randn(96, 1024, device="cuda")).shape))
