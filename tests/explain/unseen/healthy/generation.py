"""Generates words with a cache of keys and values that has its full size from the start."""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, longest: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.heads = heads
        shape = (2, 4, heads, longest, width // heads)
        self.register_buffer("past", torch.zeros(shape), persistent=False)

    def forward(self, x: torch.Tensor, place: int) -> torch.Tensor:
        batch, length, _ = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.past[:, :, :, place : place + length] = qkv[1:]
        keys, values = self.past[:, :, :, : place + length]
        found = F.scaled_dot_product_attention(qkv[0], keys, values)
        return found.transpose(1, 2).reshape(batch, length, -1)


layers = nn.ModuleList(Attention(512, 8, 1024) for _ in range(6)).cuda().half()
with torch.inference_mode():
    x = torch.randn(4, 512, 512, device="cuda", dtype=torch.half)
    place = 0
    for _word in range(60):
        length = x.shape[1]
        for layer in layers:
            x = x + layer(x, place)
        place += length
        x = x[:, -1:].contiguous()
print(place, "words")
