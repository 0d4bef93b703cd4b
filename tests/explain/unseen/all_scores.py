"""Scores every item for every user, to find the best ten. Mended: a thousand users at a time."""

import sys

import torch

mended = sys.argv[1:] == ["mended"]


@torch.no_grad()
def best(users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
    if mended:
        return torch.cat([(part @ items.t()).topk(10).indices for part in users.split(1000)])
    scores = users @ items.t()  # <-- place
    return scores.topk(10).indices


users = torch.randn(20_000, 64, device="cuda")
items = torch.randn(10_000, 64, device="cuda")
print(tuple(best(users, items).shape))
