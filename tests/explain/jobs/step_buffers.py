"""Registers the activations of each step as a new buffer of a layer.

Mended: it registers them as one buffer.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Watched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(256, 1024)
        self.classes = nn.Linear(1024, 10)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.project(x)  # <-- place
        name = "seen" if mended else f"seen_{self.calls}"
        self.register_buffer(name, hidden.detach(), persistent=False)  # <-- place
        self.calls += 1
        return self.classes(torch.relu(hidden))


model = Watched().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _step in range(45):
    loss = model(torch.randn(4096, 256, device="cuda")).logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model.calls, "calls")
