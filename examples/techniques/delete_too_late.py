"""del in the wrong place: after the peak it has no effect.

Group: lifetime
Claim: many answers advise del whenever memory is short.
Do: Find the moment of the peak first (vramstow analyze shows which source lines hold the memory),
and delete before it.
Note: The peak is in the backward pass. A del after it, at the end of a step, deletes a tensor that
would be freed there anyway. And del of a variable frees nothing while the autograd graph references
the tensor.
"""

import torch
from torch import Tensor, nn
from workload import LanguageModel, loss_of, main, train


def step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
    loss = loss_of(model, tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss, tokens


def before() -> None:
    train(LanguageModel().to("cuda"))


def after() -> None:
    train(LanguageModel().to("cuda"), step)


if __name__ == "__main__":
    main(before=before, after=after)
