"""YOLO's trainer trains it on random pictures. With `graphs` it then answers from a graph."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Without these settings ultralytics would download packages, weights and news.
os.environ |= {
    "YOLO_AUTOINSTALL": "false",
    "YOLO_OFFLINE": "true",
    "YOLO_CONFIG_DIR": str(Path.cwd()),
}

import cv2
import numpy as np
import torch
from tell import captured, parameters_of, state_of, tell_client
from ultralytics.models.yolo.detect import DetectionTrainer

SIDE = 160
PICTURES, ROWS, EPOCHS = 16, 4, 3


def random_pictures(folder: Path) -> Path:
    """Writes pictures and the file that describes them to YOLO; returns the file."""
    random = np.random.default_rng(1)
    for part in ("train", "val"):
        for place in ("images", "labels"):
            (folder / place / part).mkdir(parents=True)
        for number in range(PICTURES):
            picture = random.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
            cv2.imwrite(str(folder / f"images/{part}/{number}.png"), picture)
            boxes = "0 0.4 0.4 0.3 0.3\n1 0.6 0.5 0.2 0.4\n"
            (folder / f"labels/{part}/{number}.txt").write_text(boxes)
    told = folder / "pictures.yaml"
    told.write_text(f"path: {folder}\ntrain: images/train\nval: images/val\nnames: [cat, dog]\n")
    return told


class Counting:
    """Counts the steps of the optimizer."""

    steps = 0

    def begin(self, trainer: DetectionTrainer) -> None:
        trainer.optimizer.register_step_post_hook(self._count)

    def _count(self, *_: object) -> None:
        self.steps += 1


counting = Counting()
trainer = DetectionTrainer(
    overrides={
        "model": "yolo11n.yaml",
        "data": str(random_pictures(Path.cwd() / "pictures")),
        "epochs": EPOCHS,
        "batch": ROWS,
        "nbs": 2 * ROWS,  # pictures for each step of the optimizer
        "imgsz": SIDE,
        "workers": 0,
        "amp": False,  # its check would download weights
        "plots": False,
        "pretrained": False,
        "project": str(Path.cwd() / "runs"),
    }
)
trainer.add_callback("on_train_start", counting.begin)
trainer.train()
model, averaged = trainer.model, trainer.ema.ema
if "graphs" in sys.argv[1:]:
    picture = torch.rand(1, 3, SIDE, SIDE, device="cuda")
    assert captured(lambda: model.eval()(picture)[0]) == [1, 6, 525]
tell_client(
    end=trainer.epoch,
    iterations=counting.steps,
    parameters=parameters_of(model) + parameters_of(averaged),
    optimizer_state=state_of(trainer.optimizer),
)
