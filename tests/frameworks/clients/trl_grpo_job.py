"""TRL tunes a language model by rewards for its texts. With `graphs` it then answers."""

from __future__ import annotations

import datasets
import trl
from text import WORDS
from training import tell_trainer
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
tell_trainer(trainer, WORDS)
