"""Saves a bfloat16 model in float, and makes the float copies on the card.

Mended: it makes them on the host.
"""

import sys
import tempfile

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def save(model: nn.Module, file: str) -> None:
    state = {}
    for name, value in model.state_dict().items():
        state[name] = value.cpu().float() if mended else value.float()  # <-- place
    torch.save(state, file)


model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(24)]).cuda().bfloat16()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(64, 2048, device="cuda", dtype=torch.bfloat16)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step)
with tempfile.NamedTemporaryFile(suffix=".pt") as file:
    save(model, file.name)  # <-- place
print("saved")
