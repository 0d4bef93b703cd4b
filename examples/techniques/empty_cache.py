"""torch.cuda.empty_cache() in each step: the peak stays, and the memory is requested again.

Group: lifetime
Claim: often advised against running out of memory.
Do: Leave it out of loops. It is useful between phases, or if another process needs the GPU.
Note: It returns memory that is not in use. At the peak all memory is in use, so the peak stays the
same. Memory that is freed in a step is requested from the driver again in the next step, and each
call that returns memory waits for the device.
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
