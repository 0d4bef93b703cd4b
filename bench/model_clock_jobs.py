"""Jobs of bench/model_clock.py, as published: model_clock_jobs.py JOB [--FLAG]…

Prints one line of JSON: the seconds of the later steps by the virtual clock of the simulated GPU,
and the memory held. Values are not initialised unless the simulated run depends on them.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

Step = Callable[[], object]


def now() -> float:
    """Returns the seconds by the virtual clock of the simulated GPU, after all work has ended."""
    torch.cuda.synchronize()
    card = ctypes.CDLL("libcuda.so.1")
    card.vramstowSimulatorTime.restype = ctypes.c_uint64
    return card.vramstowSimulatorTime() / 1e9


class WrittenNorm(nn.Module):
    """A layer normalisation that is written in elementary operators."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=-1, keepdim=True)
        spread = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.scale * ((x - mean) / torch.sqrt(spread + 1e-5)) + self.shift


def written_gelu(x: Tensor) -> Tensor:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
    return 0.5 * x * (1.0 + torch.tanh(inner))


class Attention(nn.Module):
    """Attention with one or three matrices for queries, keys and values; fused or written out."""

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__()
        width, self.fused, self.drop = given.width, given.fused_attention, given.dropout
        self.heads = given.heads
        bias = given.bias
        parts = [3 * width] if self.fused else [width] * 3
        self.inward = nn.ModuleList(nn.Linear(width, part, bias=bias) for part in parts)
        self.outward = nn.Linear(width, width)
        self.length = given.length

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = [each(x) for each in self.inward]
        if self.fused:
            parts = list(parts[0].split(width, dim=2))
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts
        )
        if self.fused:
            seen = functional.scaled_dot_product_attention(
                query, key, value, dropout_p=self.drop, is_causal=True
            )
        else:
            scores = query @ key.transpose(2, 3)
            mask = torch.triu(torch.ones(length, length, device=x.device), diagonal=1).bool()
            scores.masked_fill_(mask, -torch.inf)
            weights = torch.softmax(scores / key.shape[-1] ** 0.5, dim=-1)
            seen = functional.dropout(weights, self.drop) @ value
        return self.outward(seen.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__()
        width = given.width
        norm = WrittenNorm if given.written_norm else nn.LayerNorm
        self.norms = nn.ModuleList(norm(width) for _ in range(2))
        self.attention = Attention(given)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gelu = written_gelu if given.written_gelu else nn.GELU(approximate="tanh")
        self.drop = given.dropout

    def forward(self, x: Tensor) -> Tensor:
        x = x + functional.dropout(self.attention(self.norms[0](x)), self.drop)
        y = self.narrow(self.gelu(self.wide(self.norms[1](x))))
        return x + functional.dropout(y, self.drop)


class Gpt(nn.Module):
    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__()
        width = given.width
        self.words = nn.Embedding(given.words, width)
        self.places = nn.Embedding(given.length, width)
        self.blocks = nn.ModuleList(Block(given) for _ in range(given.layers))
        self.norm = WrittenNorm(width) if given.written_norm else nn.LayerNorm(width)
        self.head = nn.Linear(width, given.words, bias=False)
        if given.tied:
            self.head.weight = self.words.weight
        self.drop = given.dropout

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = functional.dropout(self.words(tokens) + self.places(places), self.drop)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpt(given: argparse.Namespace) -> Step:
    """Runs steps of a training of GPT-2."""
    if given.precision != "f32":
        torch.set_float32_matmul_precision("high")
    with torch.device("cuda"):
        model = Gpt(given)
    if given.precision == "bf16":
        model = model.bfloat16()
    fused = {"fused": True} if given.fused_optimizer else {}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **fused)
    tokens = torch.zeros(given.batch, given.length, dtype=torch.long, device="cuda")

    by_autocast = given.precision == "autocast"

    def loss() -> Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=by_autocast):
            logits = model(tokens)
        if by_autocast:
            logits = logits.float()
        return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


JOBS: dict[str, Callable[[argparse.Namespace], Step]] = {"gpt": gpt}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    for name, value in (("width", 768), ("heads", 12), ("layers", 12), ("words", 50257)):
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in (("length", 1024), ("batch", 8), ("steps", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dropout", type=float, default=0.1)
    for flag in ("fused-attention", "fused-optimizer", "written-norm", "written-gelu"):
        parser.add_argument(f"--{flag}", action="store_true")
    for flag in ("bias", "tied"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--precision", choices=("f32", "tf32", "bf16", "autocast"), default="bf16")
    return parser.parse_args()


def main() -> int:
    given = parsed()
    step = JOBS[given.job](given)
    times = [now()]
    for _ in range(given.steps):
        step()
        times.append(now())
    print(
        json.dumps(
            {
                "seconds": times[-1] - times[-2],
                "allocated_bytes": torch.cuda.max_memory_allocated(),
                "reserved_bytes": torch.cuda.max_memory_reserved(),
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
