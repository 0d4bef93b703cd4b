"""A language model is tuned on texts by TRL. `graphs`: then it answers from a graph."""

from __future__ import annotations

import sys

import datasets
import torch
import trl
from tell import captured, parameters_of, state_of, tell_client
from text import WORDS
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
