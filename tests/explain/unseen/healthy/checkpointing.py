"""Trains a deep network whose layers are recomputed two by two, and saves it from the host."""

import tempfile

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

net = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.GELU()) for _ in range(12)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(4096, 1024, device="cuda")
    loss = checkpoint_sequential(net, 6, x, use_reentrant=False).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
with tempfile.NamedTemporaryFile(suffix=".pt") as file:
    torch.save({name: value.cpu() for name, value in net.state_dict().items()}, file.name)
print("saved")
