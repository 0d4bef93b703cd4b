"""A chat that never forgets: keys and values of all turns stay. Mended: of the last 4096 words."""

import sys

import torch
from torch import nn
from torch.nn import functional as F

mended = sys.argv[1:] == ["mended"]


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.heads = heads
        self.past: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        qkv = self.qkv(x).view(1, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        new = qkv[1:]
        past = (
            new.contiguous() if self.past is None else torch.cat([self.past, new], 3)
        )  # <-- place
        self.past = past[..., -4096:, :].contiguous() if mended else past  # <-- place
        found = F.scaled_dot_product_attention(qkv[0], self.past[0], self.past[1])
        return found.transpose(1, 2).reshape(1, length, -1)


class Chat(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention(1024, 8) for _ in range(8))

    @torch.inference_mode()
    def turn(self, words: int) -> float:
        x = torch.randn(1, words, 1024, device="cuda", dtype=torch.half)
        for layer in self.layers:
            x = x + layer(x)
        return x.mean().item()


chat = Chat().cuda().half()
for _turn in range(50):
    chat.turn(512)
print("the chat is over")
