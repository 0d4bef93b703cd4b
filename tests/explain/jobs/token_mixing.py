"""Attention written by einsum, in a decoder of several layers. Mended: PyTorch's own."""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    if mended:
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5  # <-- place
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    scores = scores.masked_fill(~mask, float("-inf"))  # <-- place
    weights = torch.softmax(scores, dim=-1)  # <-- place
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


class Layer(nn.Module):
    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, w = x.shape
        q, k, v = self.project(x).view(b, n, 3, self.heads, w // self.heads).unbind(2)
        return x + self.out(attend(q, k, v).reshape(b, n, w))  # <-- place


model = nn.Sequential(*[Layer(4, 128) for _ in range(3)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(2):
    model(torch.randn(4, 1536, 128, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
