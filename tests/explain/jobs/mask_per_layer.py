"""Registers in each layer a mask for the longest text that is possible.

Mended: all layers share one mask of the length that is used.
"""

import sys

import torch
from torch import nn
from torch.nn import functional

mended = sys.argv[1:] == ["mended"]
LONGEST, LENGTH = 4096, 128


class Layer(nn.Module):
    def __init__(self, width: int, mask: torch.Tensor | None) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        if mask is None:
            mask = torch.full((LONGEST, LONGEST), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        count = x.shape[1]
        mask = self.mask[:count, :count]
        return x + functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


shared = torch.full((LENGTH, LENGTH), float("-inf")).triu(1) if mended else None
decoder = nn.Sequential(*[Layer(64, shared) for _ in range(32)])
decoder = decoder.cuda()  # <-- place
with torch.inference_mode():
    for text in range(3):
        out = decoder(torch.randn(2, LENGTH, 64).cuda())
        print("text", text, tuple(out.shape))
