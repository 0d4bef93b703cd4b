"""Tokens go to their experts by products with one-hot masks. Mended: by their numbers."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Experts(nn.Module):
    def __init__(self, width: int, experts: int, room: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.weight = nn.Parameter(torch.zeros(experts, width, width))
        self.room = room

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        experts = self.gate.out_features
        best = self.gate(tokens).max(-1)
        place = torch.arange(len(tokens), device="cuda") % self.room
        if mended:
            inside = tokens.new_zeros(experts * self.room, tokens.shape[1])
            seats = best.indices * self.room + place
            inside = inside.index_add(0, seats, tokens).view(experts, self.room, -1)
            return torch.bmm(inside, self.weight).flatten(0, 1)[seats] * best.values[:, None]
        numbers = best.indices * self.room + place
        seats = nn.functional.one_hot(numbers, experts * self.room).float()  # <-- place
        combine = seats * best.values[:, None]
        inside = torch.mm(seats.T, tokens).view(experts, self.room, -1)
        return torch.mm(combine, torch.bmm(inside, self.weight).flatten(0, 1))


layer = Experts(64, 16, 512).cuda()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
for _step in range(3):
    tokens = torch.randn(8192, 64, device="cuda")
    loss = (layer(tokens) - tokens).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.shape)
