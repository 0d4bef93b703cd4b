"""Lightning with its TensorBoard and CSV loggers, and the pool's numbers. Argument: a folder."""

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
        return self.body(batch[0]).square().mean()

    def validation_step(self, batch: list[torch.Tensor], _: int) -> None:
        self.log("loss", self.body(batch[0]).square().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


def loader() -> torch.utils.data.DataLoader:
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 256)), 8)


trainer = lightning.Trainer(
    max_epochs=1,
    accelerator="cuda",
    devices=1,
    logger=[TensorBoardLogger(sys.argv[1]), CSVLogger(sys.argv[1])],
    log_every_n_steps=4,
    enable_progress_bar=False,
    enable_model_summary=False,
    enable_checkpointing=False,
    callbacks=[vramstow.lightning.MemoryCallback()],
)
trainer.fit(Line(), loader(), loader())
print(json.dumps({"peak": vramstow.scalars()}))
