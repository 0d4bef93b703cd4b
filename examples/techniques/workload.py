"""What the techniques share: a small language model, made-up text, a training loop, and main().

The numbers are chosen so that parameters, optimizer state and activations are all worth looking at,
and a step takes no time. Sizes are bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from host_memory import HostMemory
from torch import Tensor, nn
from torch.nn import functional

try:  # marks of iterations, and of what memory is for; without vramstow none are needed
    from vramstow import annotate_parameters, iteration
except ImportError:

    def annotate_parameters(*_: object) -> None: ...

    def iteration(_: int) -> None: ...


VOCABULARY = 4096
LENGTH = 256
WIDTH = 384
HEAD_WIDTH = 64
LAYERS = 4
BATCH = 16
STEPS = 5

Step = Callable[[nn.Module, torch.optim.Optimizer, Tensor], None]


class Block(nn.Module):
    """One transformer layer: causal self-attention and a two-layer perceptron."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.heads = width // HEAD_WIDTH
        self.norm_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm_1(x)).view(batch, length, 3, self.heads, HEAD_WIDTH)
        attended = self.attend(*qkv.permute(2, 0, 3, 1, 4))
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm_2(x))


class LanguageModel(nn.Module):
    """A decoder-only transformer. `each` calls a layer: f(layer, x) instead of layer(x)."""

    def __init__(
        self,
        width: int = WIDTH,
        layers: int = LAYERS,
        block: Callable[[int], nn.Module] = Block,
        each: Callable[[nn.Module, Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.each = each or (lambda layer, x: layer(x))

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = self.each(block, x)
        return self.head(self.norm(x))


def text(batch: int = BATCH, length: int = LENGTH + 1) -> Tensor:
    """Token sequences made up on the spot, on the host."""
    return torch.randint(VOCABULARY, (batch, length))


def loss_of(model: nn.Module, tokens: Tensor) -> Tensor:
    logits = model(tokens[:, :-1])
    return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def plain_step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
    loss_of(model, tokens).backward()
    optimizer.step()
    optimizer.zero_grad()


def train(
    model: nn.Module,
    step: Step = plain_step,
    optimizer: torch.optim.Optimizer | None = None,
    batch: int = BATCH,
    steps: int = STEPS,
) -> None:
    """Trains `model`, which is on its device already, on made-up text."""
    device = next(model.parameters()).device
    optimizer = optimizer or torch.optim.AdamW(model.parameters())
    annotate_parameters(model, optimizer)
    for number in range(steps):
        iteration(number)
        step(model, optimizer, text(batch).to(device))
    torch.cuda.synchronize()


def evaluate(model: nn.Module, batch: int = BATCH, steps: int = STEPS) -> None:
    """Runs `model` forward and keeps each batch's loss as a number."""
    annotate_parameters(model)
    for number in range(steps):
        iteration(number)
        loss_of(model, text(batch).to("cuda")).item()


def arguments(*variants: str) -> argparse.Namespace:
    """Reads the command line: the variant, and the batch size for those that use it."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("variant", choices=variants or None)
    parser.add_argument("--batch", type=int, default=BATCH, help="where a technique asks for it")
    return parser.parse_args()


def main(**variants: Callable[[], None]) -> None:
    """Runs the variant that the command line names, then says what PyTorch counted.

    The last line on stdout is JSON. Where a variant runs out of memory the exit status is 1, and
    there is no such line.
    """
    variant = arguments(*variants).variant
    torch.manual_seed(0)
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.synchronize()  # create the context and its host memory first
    with HostMemory() as host:
        try:
            variants[variant]()
        except torch.OutOfMemoryError as error:
            sys.exit(f"{variant}: {str(error).splitlines()[0]}")
    torch.cuda.synchronize()
    free, _ = torch.cuda.mem_get_info()
    counted = {
        "technique": Path(sys.argv[0]).stem,
        "variant": variant,
        "torch_peak_allocated_bytes": torch.cuda.max_memory_allocated(),
        "torch_peak_reserved_bytes": torch.cuda.max_memory_reserved(),
        "free_at_end_bytes": free,
        "host_peak_bytes": host.peak_bytes,
    }
    # Each line is written with one call, because ranks share the output.
    sys.stdout.write(json.dumps(counted) + "\n")
    sys.stdout.flush()
