"""Ten steps of a Trainer. Arguments: checkpointing, evaluation, accumulation."""

from __future__ import annotations

import sys
import tempfile

import transformers
from tell import parameters_of, state_of, tell, trained_of
from text import SHAPE, sentences

wanted = set(sys.argv[1:])
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SHAPE))
with tempfile.TemporaryDirectory() as folder:
    arguments = transformers.TrainingArguments(
        folder,
        max_steps=10,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=2 if "accumulation" in wanted else 1,
        gradient_checkpointing="checkpointing" in wanted,
        eval_strategy="steps" if "evaluation" in wanted else "no",
        eval_steps=5,
        save_strategy="steps" if "evaluation" in wanted else "no",
        save_steps=5,
        logging_steps=5,
        report_to="none",
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(
        model, arguments, train_dataset=sentences(80, 128), eval_dataset=sentences(12, 128)
    )
    trainer.train()
    tell(
        steps=trainer.state.global_step,
        parameters=parameters_of(model),
        gradients=trained_of(model),
        optimizer_state=state_of(trainer.optimizer.optimizer),
    )
