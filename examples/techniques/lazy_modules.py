"""Lazy modules: parameters are created with the first batch, when their sizes are known.

Group: start-up
Claim: tutorials mention nn.LazyLinear together with deferred initialisation.
Do: Use them if you do not want to count features by hand, and move the model to the device before
the first batch. They do not save memory on the device.
Note: The same parameters are created, only later. The script saves the copy on the host, because
they are created on the device on which the module is at that time.
"""

import torch
from torch import nn
from workload import iteration, main

FEATURES = 4096


@torch.no_grad()
def classify(classifier: nn.Module) -> None:
    classifier.to("cuda")
    for number in range(3):
        iteration(number)
        classifier(torch.ones(64, FEATURES, device="cuda"))


def before() -> None:
    classify(nn.Sequential(nn.Linear(FEATURES, 2048), nn.ReLU(), nn.Linear(2048, 1000)))


def after() -> None:
    classify(nn.Sequential(nn.LazyLinear(2048), nn.ReLU(), nn.LazyLinear(1000)))


if __name__ == "__main__":
    main(before=before, after=after)
