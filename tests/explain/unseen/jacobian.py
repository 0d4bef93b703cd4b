"""How each output depends on each input, of a whole batch at once. Mended: example by example."""

import sys

import torch
from torch import nn
from torch.autograd.functional import jacobian as batch_jacobian
from torch.func import jacrev, vmap

mended = sys.argv[1:] == ["mended"]


class Dynamics(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 64), nn.Tanh(), nn.Linear(64, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def sensitivity(model: Dynamics, x: torch.Tensor) -> torch.Tensor:
    if mended:
        return vmap(jacrev(model))(x)
    whole = batch_jacobian(model, x, vectorize=True)  # <-- place
    return torch.stack([whole[i, :, i] for i in range(len(x))])


model = Dynamics(512).cuda()
for _ in range(2):
    print(tuple(sensitivity(model, torch.randn(32, 512, device="cuda")).shape))
