"""The common parts of the clients' jobs: a training loop, and their last line of output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from tell import captured, parameters_of, state_of, tell_client

if TYPE_CHECKING:
    import transformers

WITH_GRAPHS = "graphs" in sys.argv[1:]


def train(
    loss_of: Callable[[], torch.Tensor], optimizer: torch.optim.Optimizer, steps: int
) -> list[bool]:
    """Trains, and returns whether the loss of each step was finite."""
    finite = []
    for _ in range(steps):
        loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        finite.append(bool(torch.isfinite(loss)))
    return finite


def tell_training(
    end: object,
    iterations: int,
    optimizer: torch.optim.Optimizer,
    *models: torch.nn.Module,
) -> None:
    """Prints the results of a training; `models` are all models with weights on the GPU."""
    tell_client(
        end=end,
        iterations=iterations,
        parameters=sum(map(parameters_of, models)),
        optimizer_state=state_of(optimizer),
    )


def tell_trainer(trainer: transformers.Trainer, words: int, *others: torch.nn.Module) -> None:
    """Prints the results of a trainer like that of transformers; with `graphs` its model, which has
    a vocabulary of `words` words, first answers from a graph. `others` are further models."""
    model = trainer.model
    if WITH_GRAPHS:
        text = torch.ones((1, 16), dtype=torch.long, device="cuda")
        shape = captured(lambda: model(input_ids=text, use_cache=False).logits)
        assert shape == [1, 16, words]
    done = trainer.state.global_step
    tell_training(done, done, trainer.optimizer, model, *others)
