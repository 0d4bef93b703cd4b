"""Has memory for the forward and backward pass, but not for Adam's state in the first step.

Mended: it uses an optimizer without state.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(10)]).cuda()
if mended:
    optimizer: torch.optim.Optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(2):
    loss = model(torch.randn(16, 2048, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # <-- place
    print("step", step)
