"""Mixed precision by hand: half weights, masters in float32, Adam on the masters."""

import sys

import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(5)]).cuda().half()
masters = [p.detach().float().requires_grad_() for p in model.parameters()]
kind = torch.optim.SGD if "mended" in sys.argv else torch.optim.Adam
optimizer = kind(masters, lr=1e-3)
for _step in range(3):
    x = torch.randn(256, 4096, device="cuda", dtype=torch.half)
    loss = model(x).float().square().mean()
    loss.backward()
    for p, m in zip(model.parameters(), masters, strict=False):
        m.grad = p.grad.float()
        p.grad = None
    optimizer.step()  # <-- place
    with torch.no_grad():
        for p, m in zip(model.parameters(), masters, strict=False):
            p.copy_(m)
            m.grad = None
