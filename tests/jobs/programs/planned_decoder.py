"""Trains a tiny decoder for `vramstow plan`, which passes the searched settings as arguments."""

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, LENGTH = 256, 4, 128


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


def multiply_in_triton(x: torch.Tensor, times: int) -> None:
    if times > 0:
        from planned_kernels import scale
    for _ in range(times):
        scale[(1,)](x, WIDTH, 1.0, BLOCK=WIDTH)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--checkpoint", choices=("none", "full"), default="none")
    parser.add_argument("--optimizer", choices=("fused", "foreach"), default="fused")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--words", type=int, default=1024)
    parser.add_argument("--triton", type=int, default=0, help="kernels of Triton for each block")
    given = parser.parse_args()
    words = nn.Embedding(given.words, WIDTH).cuda().bfloat16()
    blocks = nn.ModuleList(Block() for _ in range(given.layers)).cuda().bfloat16()
    everything = [*words.parameters(), *blocks.parameters()]
    optimizer = torch.optim.AdamW(everything, **{given.optimizer: True})
    for _ in range(3):
        for _ in range(given.accumulate):
            tokens = torch.randint(given.words, (given.batch, LENGTH)).cuda()
            x = words(tokens)
            for block in blocks:
                full = given.checkpoint == "full"
                x = checkpoint(block, x, use_reentrant=False) if full else block(x)
                multiply_in_triton(x.detach(), given.triton)
            logits = functional.linear(x, words.weight).flatten(0, 1)
            functional.cross_entropy(logits, tokens.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
