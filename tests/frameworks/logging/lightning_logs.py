"""Lightning with its TensorBoard and CSV loggers, and the pool's numbers. Argument: a folder.

Each way of optimization has a subfolder.
"""

from __future__ import annotations

import json
import sys
import warnings

import lightning
import torch
import vramstow
import vramstow.lightning
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

warnings.filterwarnings("ignore")


class Line(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Linear(256, 256)

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        loss = self.body(batch[0]).square().mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: list[torch.Tensor], _: int) -> None:
        self.log("loss", self.body(batch[0]).square().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


class Manual(Line):
    """Two optimizers, each of which takes a step for each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: list[torch.Tensor], number: int) -> None:
        self.manual_backward(super().training_step(batch, number))
        for optimizer in self.optimizers():
            optimizer.step()
            optimizer.zero_grad()

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        return [torch.optim.SGD([parameter], 1e-3) for parameter in self.parameters()]


def loader() -> torch.utils.data.DataLoader:
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 256)), 8)


def fit(module: Line, name: str, every: int, accumulated: int = 1) -> None:
    """Trains for eight batches, and validates after them."""
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cuda",
        devices=1,
        logger=[kind(sys.argv[1], name) for kind in (TensorBoardLogger, CSVLogger)],
        log_every_n_steps=every,
        accumulate_grad_batches=accumulated,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        callbacks=[vramstow.lightning.MemoryCallback()],
    )
    trainer.fit(module, loader(), loader())


fit(Manual(), "manual", every=4)
fit(Line(), "accumulated", every=2, accumulated=2)
fit(Line(), "plain", every=4)
print(json.dumps({"peak": vramstow.scalars()}))
