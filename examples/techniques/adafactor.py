"""An optimizer with less state: Adafactor instead of AdamW.

Group: size
Claim: tutorials recommend 8-bit Adam or Adafactor if the optimizer's state is most of the memory.
Do: Use it if the optimizer's state is most of the peak. It is a different optimizer, so you have to
find a new learning rate.
Note: Adafactor stores a row and a column for each matrix instead of two matrices. The 8-bit
optimizers of other packages have their own kernels, which the simulator cannot run; on a real GPU
you can measure them in the same way.
"""

import torch
from torch import nn
from workload import LanguageModel, main, train

WIDTH = 1024


def model() -> nn.Module:
    return LanguageModel(WIDTH, layers=3).to("cuda")


def before() -> None:
    net = model()
    train(net, optimizer=torch.optim.AdamW(net.parameters(), foreach=False), batch=1)


def after() -> None:
    net = model()
    train(net, optimizer=torch.optim.Adafactor(net.parameters(), foreach=False), batch=1)


if __name__ == "__main__":
    main(before=before, after=after)
