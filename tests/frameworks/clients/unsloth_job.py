"""unsloth trains adapters of a language model from a folder. With `graphs` it then answers."""

from __future__ import annotations

import os
import sys

os.environ["UNSLOTH_DISABLE_STATISTICS"] = "1"

import unsloth  # must come first, because it changes later imports

# isort: split

import datasets
import torch
import trl
from tell import captured, parameters_of, state_of, tell_client
from text import WORDS
from words import llama, texts, tokenizer

STEPS, ROWS = 4, 4

llama().save_pretrained("llama")
tokenizer().save_pretrained("llama")
base, words_of = unsloth.FastLanguageModel.from_pretrained(
    "llama", max_seq_length=64, dtype=torch.bfloat16, load_in_4bit=False
)
model = unsloth.FastLanguageModel.get_peft_model(base, r=16, random_state=1)
wanted = trl.SFTConfig(
    output_dir="sft",
    max_steps=STEPS,
    per_device_train_batch_size=ROWS,
    max_length=64,
    dataset_text_field="text",
    report_to=[],
    save_strategy="no",
    logging_steps=1,
)
trainer = trl.SFTTrainer(
    model=model,
    args=wanted,
    train_dataset=datasets.Dataset.from_dict({"text": texts(ROWS * STEPS, 64)}),
    processing_class=words_of,
)
trainer.train()
if "graphs" in sys.argv[1:]:
    wide = torch.rand(ROWS, 512, device="cuda", dtype=torch.bfloat16)
    head = model.get_output_embeddings()
    assert captured(lambda: head(wide)) == [ROWS, WORDS]
tell_client(
    end=trainer.state.global_step,
    iterations=trainer.state.global_step,
    parameters=parameters_of(model),
    optimizer_state=state_of(trainer.optimizer),
)
