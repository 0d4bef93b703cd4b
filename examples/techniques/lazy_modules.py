"""Lazy modules: parameters come with the first batch, when sizes are known.

Group: start-up
Claim: tutorials name nn.LazyLinear beside deferred initialisation.
Do: Use them so as not to count features by hand, and move the model to the device before the
first batch. Expect nothing of them there.
Note: The same parameters come, only later. The script saves their copy on the host: they are made
where the module is by then.
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
