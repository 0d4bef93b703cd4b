"""In-place operations: ReLU(inplace=True) writes over its input.

Group: lifetime
Claim: tutorials say that a tensor is saved for each one.
Do: Use it where the input is needed by nobody: after a linear layer or a convolution. Expect
little: look for the operation at the peak first.
Note: The backward pass of ReLU needs its output, which the next layer keeps in any case; the
input goes as soon as the output is there. So what is saved lives for a moment of the forward
pass, and the peak is elsewhere. Operations that keep their input (GELU) cannot work in place.
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
