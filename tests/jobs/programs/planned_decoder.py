"""Trains a tiny decoder, for vramstow plan: what is searched comes as arguments."""

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, LENGTH, WORDS, LAYERS = 256, 4, 128, 1024, 4


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.inward = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.outward = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch = x.shape[0]
        parts = self.inward(self.norms[0](x)).view(batch, LENGTH, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.outward(seen.transpose(1, 2).reshape(batch, LENGTH, WIDTH))
        return x + self.narrow(functional.gelu(self.wide(self.norms[1](x))))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--checkpoint", choices=("none", "full"), default="none")
    given = parser.parse_args()
    words = nn.Embedding(WORDS, WIDTH).cuda().bfloat16()
    blocks = nn.ModuleList(Block() for _ in range(LAYERS)).cuda().bfloat16()
    optimizer = torch.optim.AdamW([*words.parameters(), *blocks.parameters()], fused=True)
    for _ in range(3):
        for _ in range(given.accumulate):
            tokens = torch.randint(WORDS, (given.batch, LENGTH)).cuda()
            x = words(tokens)
            for block in blocks:
                full = given.checkpoint == "full"
                x = checkpoint(block, x, use_reentrant=False) if full else block(x)
            logits = functional.linear(x, words.weight).flatten(0, 1)
            functional.cross_entropy(logits, tokens.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
