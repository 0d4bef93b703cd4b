"""Adds device memory to the logs of Hugging Face's Trainer.

import vramstow.huggingface
vramstow.huggingface.log_memory(trainer)
trainer.train()
"""

from __future__ import annotations

import transformers

from vramstow import library
from vramstow.logs import scalars


class MemoryCallback(transformers.TrainerCallback):
    """Adds the numbers of device memory to the Trainer's logs and to its `state.log_history`.

    The callbacks before this one have already logged when it runs. So `log_memory` puts it first.
    """

    def __init__(self, device: int = library.ALL_DEVICES) -> None:
        self._device = device

    def on_log(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: object,
    ) -> None:
        numbers = scalars(self._device)
        if logs is None or not numbers:
            return
        logs.update(numbers)
        # The history contains an earlier copy of the logs, which is updated, too.
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(numbers)


def log_memory(trainer: transformers.Trainer, device: int = library.ALL_DEVICES) -> MemoryCallback:
    """Adds these numbers to everything to which the trainer reports (TensorBoard, …)."""
    callback = MemoryCallback(device)
    trainer.callback_handler.callbacks.insert(0, callback)
    return callback
