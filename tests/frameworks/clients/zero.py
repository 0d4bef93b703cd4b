"""DeepSpeed trains a language model in one process, with ZeRO. With `graphs` it then answers."""

from __future__ import annotations

import os
import sys

os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517", "RANK": "0"}
os.environ |= {"WORLD_SIZE": "1", "LOCAL_RANK": "0"}

import deepspeed
import torch
from tell import captured, parameters_of, size_of, state_of, tell_client

STEPS, ROWS, LENGTH, WIDTH, LAYERS, WORDS = 5, 4, 64, 512, 4, 2048


def language_model() -> torch.nn.Module:
    layers = [
        torch.nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, 0.0, batch_first=True)
        for _ in range(LAYERS)
    ]
    return torch.nn.Sequential(
        torch.nn.Embedding(WORDS, WIDTH), *layers, torch.nn.Linear(WIDTH, WORDS)
    )


def train(engine: deepspeed.DeepSpeedEngine) -> list[bool]:
    finite = []
    for _ in range(STEPS):
        words = torch.randint(WORDS, (ROWS, LENGTH)).cuda()
        loss = torch.nn.functional.cross_entropy(engine(words).flatten(0, 1), words.flatten())
        engine.backward(loss)
        engine.step()
        finite.append(bool(torch.isfinite(loss)))
    return finite


def go(stage: int) -> None:
    torch.manual_seed(1)
    model = language_model()
    optimizer = torch.optim.AdamW(model.parameters())
    wanted = {
        "train_micro_batch_size_per_gpu": ROWS,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": stage},
    }
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=wanted)
    finite = train(engine)
    if "graphs" in sys.argv[1:]:
        wide = torch.rand(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
        assert captured(lambda: wide.softmax(-1)) == [ROWS, WIDTH]
    sharding = engine.optimizer
    if stage == 3:
        weights = size_of(parameter.ds_tensor for parameter in model.parameters())
        precise = sharding.fp32_partitioned_groups_flat
    else:
        weights = parameters_of(model)
        precise = sharding.single_partition_of_fp32_groups
    tell_client(
        end=finite,
        iterations=STEPS,
        parameters=weights,
        optimizer_state=state_of(optimizer) + size_of(precise),  # ZeRO makes the others from these
    )
    torch.distributed.destroy_process_group()
