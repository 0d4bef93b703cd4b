"""TRL tunes a language model by preferences, beside a frozen one. `graphs`: then it answers."""

from __future__ import annotations

import sys

import datasets
import torch
import trl
from tell import captured, parameters_of, state_of, tell_client
from text import WORDS
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
model = trainer.model
if "graphs" in sys.argv[1:]:
    words = torch.ones((1, 16), dtype=torch.long, device="cuda")
    shape = captured(lambda: model(input_ids=words, use_cache=False).logits)
    assert shape == [1, 16, WORDS]
tell_client(
    end=trainer.state.global_step,
    iterations=trainer.state.global_step,
    parameters=parameters_of(model) + parameters_of(reference),
    optimizer_state=state_of(trainer.optimizer),
)
