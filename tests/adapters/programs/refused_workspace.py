"""Convolutions on a nearly full GPU: cuDNN cannot allocate the workspace of its fastest algorithm.

The argument is `ends`, for few steps, or `dies`, for steps until memory runs out.
"""

import sys

import torch
import torch.nn as nn

STEPS = 7 if sys.argv[1] == "ends" else 1000


def main() -> None:
    net = nn.Conv2d(96, 32, 3, padding=1).cuda()
    images = torch.randn(16, 96, 128, 128, device="cuda")
    seen = []
    with torch.no_grad():
        for _ in range(STEPS):
            seen.append(net(images))
    print("refused by PyTorch:", torch.cuda.memory_stats()["num_ooms"], flush=True)


def caught() -> None:
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        print("caught")


if sys.argv[1] == "catches":
    caught()
else:
    main()
