"""Data on demand: one batch at a time is on the device, not the whole data set.

Group: start-up
Claim: tutorials advise a Dataset that reads only what is requested.
Do: Keep the data where there is much space (files, mapped memory) and move batches. Keep all data
on the device only if they are small.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional
from workload import iteration, main

IMAGES = 512
BATCH = 32
SHAPE = (3, 128, 128)


def train(batches: Iterator[Tensor]) -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=4))
    optimizer = torch.optim.SGD(model.to("cuda").parameters(), lr=0.1)
    for number, images in enumerate(batches):
        iteration(number)
        answer = model(images)
        functional.mse_loss(answer, torch.zeros_like(answer)).backward()
        optimizer.step()
        optimizer.zero_grad()


def before() -> None:
    images = torch.zeros(IMAGES, *SHAPE).to("cuda")
    train(iter(images.split(BATCH)))


def after() -> None:
    train(torch.zeros(BATCH, *SHAPE).to("cuda") for _ in range(IMAGES // BATCH))


if __name__ == "__main__":
    main(before=before, after=after)
