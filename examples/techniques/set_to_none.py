"""zero_grad(set_to_none=True): gradients are freed between the steps, not set to zero.

Group: lifetime
Claim: tutorials say that it needs less memory. It is the default since PyTorch 2.0.
Do: Do not change the default, and call zero_grad() right after step(), not right before backward().
Note: It reduces the live memory during the forward pass. At the peak, in the backward pass, all
gradients are computed anyway, so the effect on the peak depends on when activations are freed.
"""

import torch
from torch import Tensor, nn
from workload import LanguageModel, loss_of, main, train

WIDTH = 768


def step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
    loss_of(model, tokens).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)


def before() -> None:
    train(LanguageModel(WIDTH).to("cuda"), step, batch=8)


def after() -> None:
    train(LanguageModel(WIDTH).to("cuda"), batch=8)


if __name__ == "__main__":
    main(before=before, after=after)
