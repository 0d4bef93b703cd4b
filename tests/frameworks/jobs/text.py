"""A small language model's shape, and batches of random words."""

from __future__ import annotations

import torch

WORDS = 4096
SHAPE = {
    "vocab_size": WORDS,
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "max_position_embeddings": 512,
}


def sentences(count: int, length: int) -> list[dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randint(1, WORDS, (count, length), generator=generator)
    return [{"input_ids": row, "labels": row} for row in rows]
