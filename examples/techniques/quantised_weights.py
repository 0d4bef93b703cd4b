"""Quantised weights: eight bits and a scale for each row, converted back where they are used.

Group: size
Claim: tutorials say that weights need a quarter of the memory of fp32.
Do: Use it for inference. Weights become smaller, activations do not. The layer that is running
needs its complete weights for a moment, unless a kernel reads eight bits directly.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from workload import Block, LanguageModel, evaluate, main

WIDTH = 1024


class EightBitLinear(nn.Module):
    """A linear layer whose weights are int8 with a scale for each row."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        scale = linear.weight.detach().abs().amax(dim=1, keepdim=True) / 127
        self.register_buffer("weight", (linear.weight.detach() / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight * self.scale, self.bias)


def eight_bit_block(width: int) -> nn.Module:
    layer = Block(width)
    layer.qkv = EightBitLinear(layer.qkv)
    layer.out = EightBitLinear(layer.out)
    layer.mlp[0] = EightBitLinear(layer.mlp[0])
    layer.mlp[2] = EightBitLinear(layer.mlp[2])
    return layer


@torch.no_grad()
def before() -> None:
    evaluate(LanguageModel(WIDTH).to("cuda"), batch=1)


@torch.no_grad()
def after() -> None:
    evaluate(LanguageModel(WIDTH, block=eight_bit_block).to("cuda"), batch=1)


if __name__ == "__main__":
    main(before=before, after=after)
