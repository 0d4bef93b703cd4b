"""Keeps keys and values of each request in a server.

Mended: it deletes them at the end of the request.
"""

import sys

import torch
from torch import nn

mended = sys.argv[1:] == ["mended"]


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        q, k, v = self.qkv(x).chunk(3, dim=-1)  # <-- place
        past = (k.contiguous(), v.contiguous())  # <-- place
        return nn.functional.scaled_dot_product_attention(q, *past), past


class Server:
    def __init__(self) -> None:
        self.layers = nn.ModuleList(Attention(512) for _ in range(4)).cuda().half()
        self.sessions: dict[int, list] = {}

    @torch.inference_mode()
    def answer(self, request: int, length: int) -> torch.Tensor:
        x = torch.zeros(1, length, 512, device="cuda", dtype=torch.half)
        self.sessions[request] = []
        for layer in self.layers:
            x, past = layer(x)  # <-- place
            self.sessions[request].append(past)  # <-- place
        if mended:
            del self.sessions[request]
        return x.mean()


server = Server()
for request in range(60):
    server.answer(request, 1024 + 16 * (request % 5))
print("served")
