"""Keeps the learning-rate schedule of each fold, which refers to optimizer and model.

Mended: it keeps the learning rates.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]
schedules = []
for _fold in range(6):
    model = nn.Sequential(nn.Linear(2048, 4096), nn.ReLU(), nn.Linear(4096, 10)).cuda()  # <-- place
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    if not mended:
        schedules.append(schedule)
    for _epoch in range(3):
        loss = model(torch.randn(64, 2048, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    if mended:
        schedules.append(schedule.get_last_lr())
print(len(schedules))
