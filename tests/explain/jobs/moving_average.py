"""A moving average of the weights and the best of them, both on the card. Mended: on the host."""

import copy
import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(8)]).cuda()
if mended:
    average = copy.deepcopy(model.cpu())
    model.cuda()
else:
    average = copy.deepcopy(model)  # <-- place
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best: dict[str, torch.Tensor] = {}
for step in range(3):
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast.to(slow.device), 0.1)
    best = {
        name: weight.cpu() if mended else weight.clone()  # <-- place
        for name, weight in model.state_dict().items()
    }
    print("step", step)
