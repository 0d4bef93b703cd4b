"""Notes the gradient of every layer in every step. Mended: notes the norm of it."""

import sys
from collections import defaultdict

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

gradients: dict[str, list] = defaultdict(list)


def note(name: str, tensor: torch.Tensor) -> None:
    def keep(gradient: torch.Tensor) -> None:
        value = gradient.norm().item() if mended else gradient
        gradients[name].append(value)  # <-- place

    tensor.register_hook(keep)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1024, 1024) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            x = torch.tanh(layer(x))
            note(f"layer {number}", x)
        return x


net = Network().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _step in range(20):
    loss = net(torch.randn(4096, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()  # <-- place
    optimizer.step()
print({name: len(values) for name, values in gradients.items()})
