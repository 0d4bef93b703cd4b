"""TRL tunes a language model by rewards for what it writes. `graphs`: then it answers."""

from __future__ import annotations

import sys

import datasets
import torch
import trl
from tell import captured, parameters_of, state_of, tell_client
from text import WORDS
from words import llama, texts, tokenizer

STEPS, ROWS = 3, 4


def reward(completions: list[str], **_: object) -> list[float]:
    return [float(len(set(answer.split()))) for answer in completions]


wanted = trl.GRPOConfig(
    output_dir="grpo",
    max_steps=STEPS,
    per_device_train_batch_size=ROWS,
    num_generations=ROWS,
    max_completion_length=12,
    report_to=[],
    save_strategy="no",
    logging_steps=1,
)
trainer = trl.GRPOTrainer(
    model=llama(),
    reward_funcs=reward,
    args=wanted,
    train_dataset=datasets.Dataset.from_dict({"prompt": texts(STEPS * ROWS, 16)}),
    processing_class=tokenizer(),
)
trainer.train()
model = trainer.model
if "graphs" in sys.argv[1:]:
    words = torch.ones((1, 16), dtype=torch.long, device="cuda")
    shape = captured(lambda: model(input_ids=words, use_cache=False).logits)
    assert shape == [1, 16, WORDS]
tell_client(
    end=trainer.state.global_step,
    iterations=trainer.state.global_step,
    parameters=parameters_of(model),
    optimizer_state=state_of(trainer.optimizer),
)
