"""Makes training steps, some of them under torch.profiler. Argument: the file of the profile."""

import sys

import torch
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8))
model = model.cuda()
optimizer = torch.optim.Adam(model.parameters())


def step() -> None:
    loss = model(torch.randn(64, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


step()
activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
with profile(activities=activities, profile_memory=True) as profiler:
    step()
    step()
profiler.export_chrome_trace(sys.argv[1])
step()
