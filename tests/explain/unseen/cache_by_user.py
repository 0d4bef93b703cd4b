"""A chat server keeps keys and values of each user for ever. Mended: of the last four users."""

import sys

import torch

mended = sys.argv[1:] == ["mended"]

LAYERS = 8


class Layer:
    def __init__(self) -> None:
        self.keys = torch.zeros(1, 8, 0, 64, device="cuda", dtype=torch.half)

    def extend(self, new: torch.Tensor) -> None:
        self.keys = torch.cat([self.keys, new], dim=2)  # <-- place


class Cache:
    def __init__(self) -> None:
        self.layers = [Layer() for _ in range(LAYERS)]


conversations: dict[str, Cache] = {}


@torch.no_grad()
def answer(user: str) -> None:
    cache = conversations.setdefault(user, Cache())
    for layer in cache.layers:
        layer.extend(torch.ones(1, 8, 256, 64, device="cuda", dtype=torch.half))  # <-- place
    if mended and len(conversations) > 4:
        del conversations[next(iter(conversations))]


for turn in range(500):
    answer(f"{turn * 7919 % 10007:x}")  # <-- place
print(len(conversations))
