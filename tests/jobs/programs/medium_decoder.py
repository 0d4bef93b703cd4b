"""A training step or a forward pass of a decoder of medium size, as in snapshots of real GPUs.

python medium_decoder.py CONTEXT training|autocast|forward [SNAPSHOT]

Its requests on this GPU are written into SNAPSHOT. Its optimizer consists of single operations,
each of which allocates memory of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

import torch

LAYERS, WIDTH, HEADS, INNER = 24, 1024, 16, 4096
WORDS, BATCH = 10000, 4
CONTEXT, MODE = int(sys.argv[1]), sys.argv[2]


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
        inverse = torch.rsqrt(torch.mean(x**2, dim=-1, keepdim=True) + 1e-5)
        x = x * inverse
        return x * self.weight


class Rotation(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(CONTEXT), torch.arange(0, WIDTH // HEADS, 2) / 64)
        self.register_buffer("tables", torch.stack((angles.cos(), angles.sin())))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        even, odd = x.unflatten(-1, (-1, 2)).movedim(-1, 0)
        cos, sin = self.tables
        first = even * cos - odd * sin
        second = even * sin + odd * cos
        return torch.stack((first, second), dim=-1).flatten(-2)


def softmax(x: torch.Tensor) -> torch.Tensor:
    less = x - torch.max(x, dim=-1, keepdim=True)[0]
    powers = torch.exp(less)
    return powers / torch.sum(powers, dim=-1, keepdim=True)


def attend(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) / math.sqrt(queries.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("bhqk,bhkd->bhqd", weights, values)


class Attention(torch.nn.Module):
    def __init__(self, rotation: Rotation) -> None:
        super().__init__()
        self.queries, self.keys, self.values, self.out = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.rotation = rotation

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries, keys, values = self.queries(x), self.keys(x), self.values(x)
        queries, keys, values = self.heads(queries), self.heads(keys), self.heads(values)
        queries = self.rotation(queries)
        keys = self.rotation(keys)
        places = torch.arange(CONTEXT, device=x.device)
        mask = places[:, None] >= places[None, :]
        found = attend(queries, keys, values, mask)
        found = found.transpose(1, 2).flatten(2)
        return self.out(found)


class Gate(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.gate = Linear(WIDTH, INNER), Linear(WIDTH, INNER)
        self.down = Linear(INNER, WIDTH)

    @staticmethod
    def swish(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.swish(self.up(x)) * self.gate(x))


class Block(torch.nn.Module):
    def __init__(self, rotation: Rotation) -> None:
        super().__init__()
        self.attention, self.gate = Attention(rotation), Gate()
        self.norms = torch.nn.ModuleList([Norm(), Norm()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heard = self.attention(self.norms[0](x))
        middle = x + heard
        thought = self.gate(self.norms[1](middle))
        return middle + thought


class Decoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Parameter(torch.empty(WORDS, WIDTH))
        rotation = Rotation()
        self.blocks = torch.nn.ModuleList([Block(rotation) for _ in range(LAYERS)])
        self.norm, self.head = Norm(), Linear(WIDTH, WORDS)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        words = self.words[text]
        x = words
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)


def log_softmax(x: torch.Tensor) -> torch.Tensor:
    most = torch.max(x, dim=-1, keepdim=True)[0]
    x = x - most
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    losses = -log_softmax(logits)
    return torch.mean(torch.gather(losses, -1, targets[..., None]))


class AdamW(torch.optim.Optimizer):
    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        super().__init__(parameters, {"lr": 1e-3})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                state, gradient = self.state[parameter], parameter.grad
                parameter.data -= group["lr"] * 0.01 * parameter.data
                first = state.get("first", torch.zeros_like(parameter))
                second = state.get("second", torch.zeros_like(parameter))
                new_first = 0.9 * first + 0.1 * gradient
                new_second = 0.999 * second + 0.001 * gradient**2
                state["first"], state["second"] = new_first, new_second
                parameter.data -= 1e-3 * new_first / (torch.sqrt(new_second) + 1e-8)


def main() -> None:
    model = Decoder().cuda()
    optimizer = AdamW(model.parameters())
    text = torch.zeros(BATCH, CONTEXT, dtype=torch.long, device="cuda")
    for is_recorded in (False, True):
        # In the first step the libraries and the optimizer make their permanent allocations.
        if is_recorded:
            torch.cuda.memory._record_memory_history()
        with torch.autocast("cuda", torch.bfloat16, enabled=MODE == "autocast"):
            if MODE == "forward":
                with torch.no_grad():
                    model(text)
                continue
            logits = model(text)
            loss = cross_entropy(logits, text)
        loss.backward()
        optimizer.step()
        if not is_recorded:
            del logits, loss
            optimizer.zero_grad()
    if len(sys.argv) > 3:
        torch.cuda.memory._dump_snapshot(sys.argv[3])


if __name__ == "__main__":
    main()
