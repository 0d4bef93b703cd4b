"""The forward pass of a small decoder, as in snapshots of real GPUs.

python small_decoder.py full|autocast [SNAPSHOT]    writes its requests on this GPU into SNAPSHOT
"""

from __future__ import annotations

import math
import sys

import torch

LAYERS, WIDTH, HEADS, INNER = 12, 768, 12, 3072
WORDS, BATCH, CONTEXT = 10000, 4, 128


class Linear(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(outputs, inputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("...i,oi->...o", x, self.weight)


class Norm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = torch.einsum("...d,...d->...", x, x)
        mean = mean / WIDTH + 1e-5
        root = torch.sqrt(mean)
        return x / root[..., None] * self.weight


class Rotation(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(CONTEXT), torch.arange(0, 64, 2) / 64).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    @staticmethod
    def half(x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return torch.cat((-second, first), dim=-1)

    def forward(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        cos = self.cos[places]
        sin = self.sin[places]
        return x * cos + self.half(x) * sin


def softmax(x: torch.Tensor) -> torch.Tensor:
    most = x.max(dim=-1, keepdim=True).values
    powers = torch.exp(x - most)
    total = powers.sum(dim=-1, keepdim=True)
    return powers / total


def attend(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys)
    scores = scores / math.sqrt(queries.shape[-1])
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("bhqk,bhkd->bhqd", weights, values)


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.queries, self.keys, self.values, self.out = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.rotation = Rotation()

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def forward(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        queries, keys, values = (
            self.heads(layer(x)) for layer in (self.queries, self.keys, self.values)
        )
        queries = self.rotation(queries, places)
        keys = self.rotation(keys, places)
        mask = torch.tril(torch.ones(CONTEXT, CONTEXT, device=x.device)).bool()
        found = attend(queries, keys, values, mask)
        merged = found.transpose(1, 2).flatten(2)
        return self.out(merged)


class Gate(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.gate = Linear(WIDTH, INNER), Linear(WIDTH, INNER)
        self.down = Linear(INNER, WIDTH)

    @staticmethod
    def swish(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        up = torch.einsum("oi,...i->...o", self.up.weight, x)
        gate = torch.einsum("oi,...i->...o", self.gate.weight, x)
        down = self.down(self.swish(up) * gate)
        return down.to(x.dtype)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = torch.nn.ModuleList([Norm(), Norm()])
        self.attention, self.gate = Attention(), Gate()

    def forward(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        seen = self.norms[0](x)
        heard = self.attention(seen, places)
        middle = x + heard
        normed = self.norms[1](middle)
        thought = self.gate(normed)
        return middle + thought


class Decoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Parameter(torch.empty(WORDS, WIDTH))
        self.blocks = torch.nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm, self.head = Norm(), Linear(WIDTH, WORDS)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.words[text]
        places = torch.arange(CONTEXT, device=text.device)
        for block in self.blocks:
            x = block(x, places)
        normed = self.norm(x)
        return self.head(normed)


def main() -> None:
    model = Decoder().cuda()
    text = torch.zeros(BATCH, CONTEXT, dtype=torch.long, device="cuda")
    for is_recorded in (False, True):  # libraries allocate permanent memory in the first one
        if is_recorded:
            torch.cuda.memory._record_memory_history()
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, sys.argv[1] == "autocast"):
            model(text)
    if len(sys.argv) > 2:
        torch.cuda.memory._dump_snapshot(sys.argv[2])


if __name__ == "__main__":
    main()
