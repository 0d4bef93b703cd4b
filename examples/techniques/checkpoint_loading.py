"""The peak before training: a checkpoint on the device in addition to the model.

Group: start-up
Claim: tutorials advise map_location="cpu" and mmap=True.
Do: Load the checkpoint to the host, mapped from the file. In a training that needs more than twice
the memory of its parameters, this peak does not matter; in inference it does.
"""

import tempfile
from pathlib import Path

import torch
from workload import LanguageModel, evaluate, main

WIDTH = 1024


def save(folder: str) -> Path:
    path = Path(folder) / "model.pt"
    torch.save(LanguageModel(WIDTH).state_dict(), path)
    return path


@torch.no_grad()
def load(map_location: str, mmap: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = save(folder)
        model = LanguageModel(WIDTH).to("cuda")
        model.load_state_dict(torch.load(path, map_location=map_location, mmap=mmap))
    evaluate(model, batch=1)


def before() -> None:
    load("cuda", mmap=False)


def after() -> None:
    load("cpu", mmap=True)


if __name__ == "__main__":
    main(before=before, after=after)
