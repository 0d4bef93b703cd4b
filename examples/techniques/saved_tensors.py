"""Saved tensors on the host: activations wait for the backward pass in pinned memory.

Group: recompute and move
Claim: tutorials say that it saves device memory, but needs host memory and time for copies.
Do: Use it around the layers with the largest activations, not around all, because each tensor is
copied twice. Note the host's memory: pinned memory is rounded to a power of two.
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
