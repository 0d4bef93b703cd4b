"""Lightning fits a module for ten steps, and validates it twice."""

from __future__ import annotations

import tempfile
import warnings

import lightning
import torch
from tell import parameters_of, state_of, tell, trained_of

warnings.filterwarnings("ignore")


class Digits(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(784, 2048),
            torch.nn.ReLU(),
            torch.nn.Linear(2048, 2048),
            torch.nn.ReLU(),
            torch.nn.Linear(2048, 10),
        )

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.body(images), labels)

    def validation_step(self, batch: list[torch.Tensor], _: int) -> None:
        images, labels = batch
        self.log("loss", torch.nn.functional.cross_entropy(self.body(images), labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters())


def loader(count: int) -> torch.utils.data.DataLoader:
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(count, 784, generator=generator)
    labels = torch.randint(0, 10, (count,), generator=generator)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), 1024)


model = Digits()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cuda",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    told = {}

    class Last(lightning.Callback):
        def on_train_end(
            self, trainer: lightning.Trainer, module: lightning.LightningModule
        ) -> None:
            told["parameters"] = parameters_of(module)
            told["gradients"] = trained_of(module)
            told["optimizer_state"] = state_of(trainer.optimizers[0])

    trainer.callbacks.append(Last())
    trainer.fit(model, loader(5 * 1024), loader(2 * 1024))
    tell(steps=trainer.global_step, **told)
