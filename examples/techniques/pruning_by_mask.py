"""Pruning by mask: nine tenths of the weights are zero, but all of them are stored.

Group: size
Claim: tutorials say that pruning makes models smaller.
Do: Masks save no memory on the device. Remove whole rows (structured_pruning), or use a sparse
format that kernels can read.
Note: torch.nn.utils.prune stores the original weights and a mask of the same size, and computes the
masked weights as a third tensor in each forward pass. prune.remove() makes them one dense tensor
again, which contains zeros.
"""

import torch
from torch import nn
from torch.nn.utils import prune
from workload import LanguageModel, evaluate, main

WIDTH = 768


def masked(model: nn.Module) -> nn.Module:
    for module in model.modules():
        if isinstance(module, nn.Linear):
            prune.l1_unstructured(module, "weight", amount=0.9)
    return model


@torch.no_grad()
def before() -> None:
    evaluate(LanguageModel(WIDTH).to("cuda"), batch=2)


@torch.no_grad()
def after() -> None:
    evaluate(masked(LanguageModel(WIDTH)).to("cuda"), batch=2)


if __name__ == "__main__":
    main(before=before, after=after)
