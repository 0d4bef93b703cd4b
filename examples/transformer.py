"""Train a small language model the way most people do.

bf16 autocast, AdamW, gradient clipping, and a DataLoader with worker processes and pinned memory.
Nothing in here knows of vramstow: it is the kind of script that is put behind `vramstow run --`.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

VOCABULARY = 8192


class RandomText(Dataset[Tensor]):
    """Token sequences made up on the spot, the same ones in every run."""

    def __init__(self, count: int, length: int) -> None:
        self.count = count
        self.length = length

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        generator = torch.Generator().manual_seed(index)
        return torch.randint(VOCABULARY, (self.length + 1,), generator=generator)


class Block(nn.Module):
    """One transformer layer: causal self-attention and a two-layer perceptron."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm_1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm_2(x))


class LanguageModel(nn.Module):
    """A decoder-only transformer that predicts the next token."""

    def __init__(self, width: int, heads: int, layers: int, length: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        return self.head(self.norm(self.blocks(x)))


def train(args: argparse.Namespace) -> None:
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = LanguageModel(args.width, args.heads, args.layers, args.length).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    data = DataLoader(
        RandomText(args.steps * args.batch, args.length),
        batch_size=args.batch,
        num_workers=args.workers,
        pin_memory=True,
    )
    for step, batch in enumerate(data):
        tokens = batch.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        peak = torch.cuda.max_memory_allocated() / 2**20
        # A simulated run skips large products once its time budget is spent: they read as zero.
        shown = f"{loss.item():.4f}" if loss.item() > 0 else "not computed"
        print(f"step {step}: loss {shown}, peak {peak:.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=512, help="tokens in a sequence")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2, help="data loading processes")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
