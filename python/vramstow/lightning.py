"""Adds device memory to the logs of Lightning.

import vramstow.lightning
trainer = lightning.Trainer(callbacks=[vramstow.lightning.MemoryCallback()])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vramstow import library
from vramstow.logs import scalars

try:
    from lightning.pytorch import Callback
except ImportError:  # the older name of the package
    from pytorch_lightning import Callback  # type: ignore[no-redef]

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer


def _step_of(trainer: Trainer) -> int:
    """Returns the step at which Lightning logs its own metrics now.

    It is not `global_step`, which counts every step of every optimizer.
    """
    loop = getattr(getattr(trainer, "fit_loop", None), "epoch_loop", None)
    return int(getattr(loop, "_batches_that_stepped", trainer.global_step))


def _is_due(trainer: Trainer, module: LightningModule) -> bool:
    """True if Lightning itself logs the metrics of this batch."""
    accumulates = getattr(getattr(trainer, "fit_loop", None), "_should_accumulate", None)
    if accumulates is not None and module.automatic_optimization and accumulates():
        return False
    connector = getattr(trainer, "_logger_connector", None)
    due = getattr(connector, "should_update_logs", None)
    if due is not None:
        return bool(due)
    every = trainer.log_every_n_steps  # 0 if the trainer logs nothing
    return bool(every) and trainer.global_step % every == 0


class MemoryCallback(Callback):
    """Passes the numbers of device memory to the trainer's loggers whenever the trainer logs."""

    def __init__(self, device: int = library.ALL_DEVICES) -> None:
        self._device = device
        self._last_step: int | None = None  # of the last batch that was logged

    def _log(self, trainer: Trainer) -> None:
        numbers = scalars(self._device)
        for logger in trainer.loggers if numbers else ():
            logger.log_metrics(numbers, step=_step_of(trainer))

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._last_step = None

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, *args: object, **kwargs: object
    ) -> None:
        # Several batches may belong to one step.
        if _step_of(trainer) != self._last_step and _is_due(trainer, pl_module):
            self._last_step = _step_of(trainer)
            self._log(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # This may be the step of a batch that was logged. Lightning, too, logs both at that step.
        if not trainer.sanity_checking:
            self._log(trainer)
