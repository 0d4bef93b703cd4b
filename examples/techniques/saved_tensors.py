"""Saved tensors on the host: activations wait for the backward pass in pinned memory.

Group: recompute and move
Claim: tutorials say that it trades the device's memory for the host's, and time for copies.
Do: Use it round the layers with the largest activations, not round all: each tensor is copied
twice. Mind the host's memory: pinned memory is rounded to a power of two.
"""

import torch
from torch import Tensor, nn
from workload import LanguageModel, loss_of, main, train


def step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        loss = loss_of(model, tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def before() -> None:
    train(LanguageModel().to("cuda"))


def after() -> None:
    train(LanguageModel().to("cuda"), step)


if __name__ == "__main__":
    main(before=before, after=after)
