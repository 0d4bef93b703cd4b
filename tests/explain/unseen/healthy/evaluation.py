"""Trains and evaluates in turn, the latter without gradients and with larger batches."""

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *[nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(6)], nn.Linear(512, 10)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@torch.no_grad()
def evaluate(model: Network, batches: int) -> float:
    model.eval()
    total = 0.0
    for _ in range(batches):
        scores = model(torch.randn(8192, 512, device="cuda"))
        total += scores.logsumexp(dim=1).mean().item()
    model.train()
    return total / batches


model = Network().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for _ in range(5):
        loss = model(torch.randn(4096, 512, device="cuda")).logsumexp(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, evaluate(model, 5))
