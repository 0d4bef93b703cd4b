"""del in the wrong place: after the peak it changes nothing.

Group: lifetime
Claim: many answers advise del wherever memory is short.
Do: Look for the moment of the peak first (vramstow analyze says which lines hold it), and delete
before it.
Note: The peak is in the backward pass. A del after it, at the end of a step, ends what would end
there anyway; and del of a name frees nothing while the graph holds the tensor.
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
