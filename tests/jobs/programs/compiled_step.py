"""Runs a training step of which only a part is compiled, because the graph breaks in it.

The program treats each warning as an error, as test suites do, and prints what Dynamo compiled.
"""

from __future__ import annotations

import warnings

import torch
from torch._dynamo.utils import counters

warnings.filterwarnings("error", category=UserWarning)
model = torch.nn.Sequential(*(torch.nn.Linear(600 + i, 601 + i) for i in range(6))).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


@torch.compile(backend="eager")
def step(inputs: torch.Tensor) -> None:
    optimizer.zero_grad()
    model(inputs).sum().backward()
    optimizer.step()


for _ in range(12):
    step(torch.ones(4, 600, device="cuda"))
print(dict(counters["frames"]), dict(counters["stats"]))
