"""In-place operations: ReLU(inplace=True) overwrites its input.

Group: lifetime
Claim: tutorials say that each one saves a tensor.
Do: Use it if no other operation needs the input, for example after a linear layer or a convolution.
It saves little: look for the operation at the peak first.
Note: The backward pass of ReLU needs its output, which the next layer saves anyway; the input is
freed as soon as the output exists. So the memory is saved only for a moment of the forward pass,
and the peak is at another moment. Operations that need their input (GELU) cannot work in place.
"""

from torch import nn
from workload import Block, LanguageModel, main, train


def block(width: int, inplace: bool) -> nn.Module:
    layer = Block(width)
    layer.mlp[1] = nn.ReLU(inplace=inplace)
    return layer


def before() -> None:
    train(LanguageModel(block=lambda width: block(width, inplace=False)).to("cuda"))


def after() -> None:
    train(LanguageModel(block=lambda width: block(width, inplace=True)).to("cuda"))


if __name__ == "__main__":
    main(before=before, after=after)
