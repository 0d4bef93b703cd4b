"""Five networks are made on the card, then trained one after the other. Mended: one at a time."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def build(device: str) -> nn.Module:
    layers: list[nn.Module] = [nn.Linear(256, 2048), nn.ReLU()]
    layers += [nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(2048, 3)).to(device)  # <-- place


def fit(member: nn.Module) -> None:
    optimizer = torch.optim.Adam(member.parameters())
    for _ in range(3):
        out = member(torch.randn(128, 256, device="cuda"))
        out.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


members = [build("cpu" if mended else "cuda") for _ in range(6)]  # <-- place
for index, member in enumerate(members):
    member.to("cuda")
    fit(member)
    if mended:
        member.to("cpu")
    print("member", index)
