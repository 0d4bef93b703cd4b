"""Structured pruning: half of each perceptron's neurons are removed, not set to zero.

Group: size
Claim: tutorials say that removed structures save their memory.
Do: Remove rows of one layer together with the columns of the next layer, and continue training for
a while.
"""

import torch
from torch import nn
from workload import Block, LanguageModel, evaluate, main

WIDTH = 768


def without_half_of_its_neurons(width: int) -> nn.Module:
    layer = Block(width)
    first, _, second = layer.mlp
    kept = first.weight.norm(dim=1).topk(first.out_features // 2).indices
    small_first = nn.Linear(width, len(kept))
    small_second = nn.Linear(len(kept), width)
    with torch.no_grad():
        small_first.weight.copy_(first.weight[kept])
        small_first.bias.copy_(first.bias[kept])
        small_second.weight.copy_(second.weight[:, kept])
        small_second.bias.copy_(second.bias)
    layer.mlp[0], layer.mlp[2] = small_first, small_second
    return layer


@torch.no_grad()
def before() -> None:
    evaluate(LanguageModel(WIDTH).to("cuda"), batch=2)


@torch.no_grad()
def after() -> None:
    evaluate(LanguageModel(WIDTH, block=without_half_of_its_neurons).to("cuda"), batch=2)


if __name__ == "__main__":
    main(before=before, after=after)
