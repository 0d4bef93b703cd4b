"""Makes a mask of 64-bit integers for each text of a batch. Mended: it makes masks of booleans."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


def masks(batch: int, length: int) -> torch.Tensor:
    kind = torch.bool if mended else torch.long
    causal = torch.ones(length, length, device="cuda", dtype=kind).tril()
    real = torch.ones(batch, length, device="cuda", dtype=kind)
    return causal[None] * real[:, None, :]  # <-- place


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.heads = heads

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(*qkv, attn_mask=mask[:, None].bool())
        return found.transpose(1, 2).reshape(batch, length, -1)


layer = Attention(256, 4).cuda().half()
with torch.no_grad():
    for _ in range(3):
        x = torch.randn(16, 2048, 256, device="cuda", dtype=torch.half)
        print(tuple(layer(x, masks(16, 2048)).shape))
