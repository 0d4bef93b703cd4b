"""torch.cuda.empty_cache() in each step: the peak stays, and all of it is asked for again.

Group: lifetime
Claim: a widespread advice against running out of memory.
Do: Leave it out of loops. It has its place between phases, or when another process needs the
card.
Note: It gives back what nobody holds. At the peak everything is held, so the peak stays; what a
step frees, the next one takes from the driver again, and each call that gives memory back waits
for the device.
"""

import torch
from torch import Tensor, nn
from workload import LanguageModel, main, plain_step, train


def step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
    plain_step(model, optimizer, tokens)
    torch.cuda.empty_cache()


def before() -> None:
    train(LanguageModel().to("cuda"))


def after() -> None:
    train(LanguageModel().to("cuda"), step)


if __name__ == "__main__":
    main(before=before, after=after)
