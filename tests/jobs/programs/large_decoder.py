"""A decoder of 70 billion parameters (80 layers of width 8192), trained by FSDP2 with AdamW.

Usage: large_decoder.py [LAYERS STEPS]. Parameters begin on the meta device and get memory when they
are sharded; activations are checkpointed by layer. Prints the peak of each step.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

LAYERS, STEPS = (int(one) for one in (sys.argv[1:] or ["80", "2"]))
WIDTH, HEADS, KV_HEADS, HIDDEN, WORDS, LENGTH = 8192, 64, 8, 28672, 128256, 4096
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        size = WIDTH // HEADS
        self.queries = nn.Linear(WIDTH, WIDTH, bias=False)
        self.keys = nn.Linear(WIDTH, KV_HEADS * size, bias=False)
        self.values = nn.Linear(WIDTH, KV_HEADS * size, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.before, self.between = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def heads(one: torch.Tensor) -> torch.Tensor:
            return one.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)

        y = self.before(x)
        mixed = nn.functional.scaled_dot_product_attention(
            heads(self.queries(y)),
            heads(self.keys(y)),
            heads(self.values(y)),
            is_causal=True,
            enable_gqa=True,
        )
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        y = self.between(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.head(self.norm(x))


def main() -> None:
    begin = time.monotonic()
    torch.cuda.set_device(DEVICE)
    dist.init_process_group("nccl")
    with torch.device("meta"):
        model = Decoder()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=DEVICE)
    parameters = sum(one.numel() for one in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters())
    words = torch.zeros(1, LENGTH, dtype=torch.long, device=DEVICE)
    for step in range(STEPS):
        logits = model(words)
        nn.functional.cross_entropy(logits.flatten(0, 1).float(), words.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        peak = torch.cuda.max_memory_allocated(DEVICE)
        seconds = time.monotonic() - begin
        print(f"rank {RANK} step {step} peak {peak} parameters {parameters} {seconds:.0f} s")
    dist.destroy_process_group()
    print(f"rank {RANK} of {WORLD}: done", flush=True)


main()
