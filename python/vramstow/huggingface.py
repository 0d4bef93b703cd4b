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
    The Trainer returns the dictionary that it logs, as the result of `evaluate` and of `train`. So
    the numbers are removed from it when all callbacks have logged it.
    """

    def __init__(self, device: int = library.ALL_DEVICES) -> None:
        self._device = device
        self._logs: dict[str, float] = {}  # the logs that contain the numbers now
        self._added: list[str] = []

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
        self._logs, self._added = logs, list(numbers)
        logs.update(numbers)
        # The history contains an earlier copy of the logs, which is updated, too.
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(numbers)

    def on_evaluate(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        metrics: dict[str, float] | None = None,
        **kwargs: object,
    ) -> None:
        # The search for hyperparameters adds up all metrics, and other programs store them.
        self._remove_from(self._logs if metrics is None else metrics)

    def on_train_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: object,
    ) -> None:
        self._remove_from(self._logs)

    def _remove_from(self, metrics: dict[str, float]) -> None:
        for name in self._added:
            metrics.pop(name, None)
        self._logs, self._added = {}, []


def log_memory(trainer: transformers.Trainer, device: int = library.ALL_DEVICES) -> MemoryCallback:
    """Adds these numbers to everything to which the trainer reports (TensorBoard, …)."""
    callback = MemoryCallback(device)
    trainer.callback_handler.callbacks.insert(0, callback)
    return callback
