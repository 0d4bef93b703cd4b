"""foreach=False: the optimizer processes the parameters one by one.

Group: size
Claim: 6 → 4.8 GB with Adam.
Do: Use it if fused=True is not available: it is slower, but its temporaries are only as large as
one parameter.
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
    train(net, optimizer=torch.optim.AdamW(net.parameters(), foreach=False), batch=1)


if __name__ == "__main__":
    main(before=before, after=after)
