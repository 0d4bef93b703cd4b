"""Parameters, gradients and optimizer state in bf16: everything is half as large.

Group: size
Claim: ViT-L, after mixed precision, 18.21 → 13.82 GB.
Do: Use it if the optimizer and the learning rate tolerate it: with 8 bits of mantissa small updates
are lost. Stochastic rounding or fp32 copies of the weights help.
Note: Compare this with mixed_precision, where parameters, gradients and optimizer state stay in
fp32.
"""

import torch
from workload import LanguageModel, main, train


def before() -> None:
    train(LanguageModel().to("cuda"))


def after() -> None:
    train(LanguageModel().to("cuda", torch.bfloat16))


if __name__ == "__main__":
    main(before=before, after=after)
