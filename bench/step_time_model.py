"""The decoders of bench/step_times.py, similar to those of MPT, Llama and the first GPT-2.

Parameters are in bfloat16, as they are within a sharded training; gpt2 computes by autocast. Values
are not initialised, because only the work and the memory of the simulated run are used.
"""

from __future__ import annotations

import argparse
import math

import torch
from torch import nn
from torch.nn import functional
from torch.utils import checkpoint as checkpoints

MM = torch.ops.aten.mm.default
KEPT = {
    MM,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_cudnn_attention.default,
}


def linear(inputs: int, outputs: int, bias: bool = False) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=bias)


class MptBlock(nn.Module):
    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__()
        width = given.width
        self.heads = given.heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, bias=False) for _ in range(2))
        self.inward, self.outward = linear(width, 3 * width), linear(width, width)
        self.wide, self.narrow = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.inward(self.norms[0](x)).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outward(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.norms[1](x))))


def rotated(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    turned = pairs * angles.view(1, x.shape[1], 1, -1)
    return torch.view_as_real(turned).flatten(3).type_as(x)


class LlamaBlock(nn.Module):
    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__()
        width, self.size = given.width, given.width // given.heads
        self.groups = given.heads // given.key_heads
        self.query, self.out = linear(width, width), linear(width, width)
        self.key = linear(width, given.key_heads * self.size)
        self.value = linear(width, given.key_heads * self.size)
        self.gate, self.up = linear(width, given.hidden), linear(width, given.hidden)
        self.down = linear(given.hidden, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        angles = torch.ones(length, self.size // 2, dtype=torch.complex64, device=x.device)
        norm = self.norms[0](x)
        query = rotated(self.query(norm).view(batch, length, -1, self.size), angles)
        key = rotated(self.key(norm).view(batch, length, -1, self.size), angles)
        value = self.value(norm).view(batch, length, -1, self.size)
        if self.groups > 1:
            key, value = (t.repeat_interleave(self.groups, dim=2) for t in (key, value))
        query, key, value = (t.transpose(1, 2) for t in (query, key, value))
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        norm = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(norm)) * self.up(norm))


class Gpt2Block(nn.Module):
    """A block with attention written out, and the approximated activation as a formula."""

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__()
        width, self.heads = given.width, given.heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.inward, self.outward = linear(width, 3 * width, True), linear(width, width, True)
        self.wide, self.narrow = linear(width, 4 * width, True), linear(4 * width, width, True)
        ones = torch.ones(1, 1, given.length, given.length)
        self.register_buffer("mask", torch.tril(ones))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.inward(self.norms[0](x)).split(width, dim=2)
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts
        )
        scores = (query @ key.transpose(-2, -1)) / math.sqrt(key.size(-1))
        scores = functional.softmax(scores.masked_fill(self.mask == 0, float("-inf")), dim=-1)
        x = x + self.outward((scores @ value).transpose(1, 2).reshape(batch, length, width))
        y = self.wide(self.norms[1](x))
        y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * torch.pow(y, 3))))
        return x + self.narrow(y)


def kept_by_operator() -> tuple[object, ...]:
    """Saves every second product of a block and its attention, and computes the rest again."""
    products = {True: 0, False: 0}

    def policy(
        context: checkpoints.SelectiveCheckpointContext, operator: object, *_: object, **__: object
    ) -> checkpoints.CheckpointPolicy:
        if operator is MM:
            products[context.is_recompute] += 1
        is_skipped = operator is MM and products[context.is_recompute] % 2 == 0
        keeps = operator in KEPT and not is_skipped
        kinds = checkpoints.CheckpointPolicy
        return kinds.MUST_SAVE if keeps else kinds.PREFER_RECOMPUTE

    return checkpoints.create_selective_checkpoint_contexts(policy)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=("mpt", "llama", "gpt2"), required=True)
    for name, value in (("width", 768), ("heads", 12), ("layers", 12), ("words", 50368)):
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in (("hidden", 0), ("length", 2048), ("batch", 1), ("key-heads", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--checkpoint", choices=("none", "full", "operators"), default="none")
    parser.add_argument("--steps", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    given = parsed()
    by_autocast = given.kind == "gpt2"
    block = {"mpt": MptBlock, "llama": LlamaBlock, "gpt2": Gpt2Block}[given.kind]
    torch.set_default_dtype(torch.float32 if by_autocast else torch.bfloat16)
    with torch.device("meta"):
        words = nn.Embedding(given.words, given.width)
        places = nn.Embedding(given.length, given.width)
        blocks = nn.ModuleList(block(given) for _ in range(given.layers))
        norm = nn.RMSNorm(given.width) if given.kind == "llama" else nn.LayerNorm(given.width)
    for part in (words, places, blocks, norm):
        part.to_empty(device="cuda")
    torch.set_default_dtype(torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = True
    for _ in range(given.steps):
        tokens = torch.zeros(given.batch, given.length, dtype=torch.long, device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=by_autocast):
            x = words(tokens)
            if given.kind != "llama":
                x = x + places(torch.arange(given.length, device="cuda"))
            for each in blocks:
                options = (
                    {"context_fn": kept_by_operator} if given.checkpoint == "operators" else {}
                )
                if given.checkpoint == "none":
                    x = each(x)
                else:
                    x = checkpoints.checkpoint(each, x, use_reentrant=False, **options)
            logits = functional.linear(norm(x), words.weight)
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())
        del logits, x
        loss.backward()
        for part in (words, places, blocks, norm):
            part.zero_grad()


if __name__ == "__main__":
    main()
