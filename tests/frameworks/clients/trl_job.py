"""TRL tunes a language model on texts. With `graphs` it then answers from a graph."""

from __future__ import annotations

import datasets
import trl
from text import WORDS
from training import tell_trainer
from words import llama, texts, tokenizer

STEPS, ROWS = 4, 4

wanted = trl.SFTConfig(
    output_dir="sft",
    max_steps=STEPS,
    per_device_train_batch_size=ROWS,
    gradient_accumulation_steps=2,
    max_length=64,
    report_to=[],
    save_strategy="no",
    logging_steps=1,
)
trainer = trl.SFTTrainer(
    model=llama(),
    args=wanted,
    train_dataset=datasets.Dataset.from_dict({"text": texts(2 * ROWS * STEPS, 64)}),
    processing_class=tokenizer(),
)
trainer.train()
tell_trainer(trainer, WORDS)
