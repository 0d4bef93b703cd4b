"""TRL tunes a language model by preferences, with a frozen reference. With `graphs` it answers."""

from __future__ import annotations

import datasets
import trl
from text import WORDS
from training import tell_trainer
from words import llama, texts, tokenizer

STEPS, ROWS = 4, 4
COUNT = STEPS * ROWS

wanted = trl.DPOConfig(
    output_dir="dpo",
    max_steps=STEPS,
    per_device_train_batch_size=ROWS,
    max_length=64,
    report_to=[],
    save_strategy="no",
    logging_steps=1,
)
pairs = {
    "prompt": texts(COUNT, 16, seed=1),
    "chosen": texts(COUNT, 24, seed=2),
    "rejected": texts(COUNT, 24, seed=3),
}
reference = llama()
trainer = trl.DPOTrainer(
    model=llama(),
    ref_model=reference,
    args=wanted,
    train_dataset=datasets.Dataset.from_dict(pairs),
    processing_class=tokenizer(),
)
trainer.train()
tell_trainer(trainer, WORDS, reference)
