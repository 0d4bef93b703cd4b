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


class MemoryCallback(Callback):
    """Passes the numbers of device memory to the trainer's loggers whenever the trainer logs."""

    def __init__(self, device: int = library.ALL_DEVICES) -> None:
        self._device = device

    def _log(self, trainer: Trainer) -> None:
        numbers = scalars(self._device)
        for logger in trainer.loggers if numbers else ():
            logger.log_metrics(numbers, step=trainer.global_step)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, *args: object, **kwargs: object
    ) -> None:
        every = trainer.log_every_n_steps  # 0 if the trainer logs nothing
        if every and trainer.global_step % every == 0:
            self._log(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking:
            self._log(trainer)
