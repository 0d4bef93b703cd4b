"""A probe keeps what a layer gives in each step, for a plot later. Mended: it keeps the mean."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
seen: list[torch.Tensor] = []


def probe(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
    seen.append(output.detach().mean(dim=0) if mended else output.detach())


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Linear(512, 2048)
        self.classes = nn.Linear(2048, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.features(x)  # <-- place
        return self.classes(torch.relu(features))


net = Net().cuda()
net.features.register_forward_hook(probe)
optimizer = torch.optim.Adam(net.parameters())
for _step in range(30):
    loss = net(torch.randn(4096, 512, device="cuda")).logsumexp(dim=1).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("kept", len(seen))
