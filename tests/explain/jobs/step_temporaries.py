"""Updates all parameters together in Adam's step, which needs temporaries of their size.

Mended: it updates one parameter at a time.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]

model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(model.parameters(), foreach=not mended)
for step in range(4):
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()  # <-- place
    optimizer.zero_grad()
    print("step", step)
