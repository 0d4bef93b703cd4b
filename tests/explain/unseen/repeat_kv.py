"""Keys and values of eight heads are repeated for 64 queries. Mended: those are grouped."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Cache:
    def __init__(self, batch: int, heads: int, length: int, width: int) -> None:
        self.keys = torch.zeros(batch, heads, length, width, device="cuda", dtype=torch.half)
        self.values = torch.zeros(batch, heads, length, width, device="cuda", dtype=torch.half)


class GroupedAttention(nn.Module):
    def __init__(self, heads: int, groups: int, width: int) -> None:
        super().__init__()
        self.q = nn.Linear(1024, heads * width)
        self.heads, self.groups, self.width = heads, groups, width

    def forward(self, x: torch.Tensor, cache: Cache) -> torch.Tensor:
        times = self.heads // self.groups
        q = self.q(x).view(len(x), self.heads, 1, self.width)
        if mended:
            q = q.view(len(x), self.groups, times, self.width)
            found = F.scaled_dot_product_attention(q, cache.keys, cache.values)
            return found.reshape(len(x), -1)
        keys = cache.keys.repeat_interleave(times, dim=1)  # <-- place
        values = cache.values.repeat_interleave(times, dim=1)  # <-- place
        return F.scaled_dot_product_attention(q, keys, values).reshape(len(x), -1)


layer = GroupedAttention(heads=64, groups=8, width=128).cuda().half()
cache = Cache(batch=4, heads=8, length=4096, width=128)
with torch.inference_mode():
    for _step in range(4):
        x = torch.randn(4, 1024, device="cuda", dtype=torch.half)
        print(tuple(layer(x, cache).shape))
