"""A Trainer that reports to TensorBoard, with the pool's numbers. Argument: a folder."""

from __future__ import annotations

import json
import os
import sys

import torch
import transformers
import vramstow
import vramstow.huggingface

os.environ["TENSORBOARD_LOGGING_DIR"] = sys.argv[1]
shape = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
}
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape))
rows = torch.randint(1, 512, (24, 32), generator=torch.Generator().manual_seed(1))
examples = [{"input_ids": row, "labels": row} for row in rows]
trainer = transformers.Trainer(
    model,
    transformers.TrainingArguments(
        sys.argv[1],
        max_steps=6,
        per_device_train_batch_size=4,
        save_strategy="no",
        logging_steps=2,
        report_to="tensorboard",
        disable_tqdm=True,
    ),
    train_dataset=examples,
    eval_dataset=examples[:4],
)
vramstow.huggingface.log_memory(trainer)
trained = trainer.train().metrics
peak = vramstow.scalars()
returned = {"train": list(trained), "evaluate": list(trainer.evaluate())}
print(json.dumps({"history": trainer.state.log_history, "peak": peak, "returned": returned}))
