"""A fused optimizer: one kernel for the whole step, and no temporaries.

Group: size
Claim: tutorials recommend fused=True for speed.
Do: Pass fused=True if the optimizer supports it: the default works on lists of tensors and
allocates temporaries as large as the parameters.
"""

import torch
from torch import nn
from workload import LanguageModel, main, train

WIDTH = 1024


def model() -> nn.Module:
    return LanguageModel(WIDTH, layers=3).to("cuda")


def before() -> None:
    net = model()
    train(net, optimizer=torch.optim.AdamW(net.parameters()), batch=1)


def after() -> None:
    net = model()
    train(net, optimizer=torch.optim.AdamW(net.parameters(), fused=True), batch=1)


if __name__ == "__main__":
    main(before=before, after=after)
