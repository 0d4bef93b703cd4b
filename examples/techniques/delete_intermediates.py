"""del: intermediate results are freed before the next large tensor is allocated.

Group: lifetime
Claim: tutorials advise del for large tensors that are not needed any more.
Do: Delete the variable before the peak or, better, let a function end before the peak.
Note: A variable lives until the end of its function, or until it gets a new value. In a loop, it
gets the new value after this was computed, so the old and the new value are live at the same time.
"""

import torch
from workload import LanguageModel, iteration, main, text

BATCHES = 4


@torch.no_grad()
def before() -> None:
    model = LanguageModel().to("cuda")
    for number in range(BATCHES):
        iteration(number)
        logits = model(text().to("cuda")[:, :-1])
        probabilities = logits.softmax(-1)
        print(probabilities.amax().item())


@torch.no_grad()
def after() -> None:
    model = LanguageModel().to("cuda")
    for number in range(BATCHES):
        iteration(number)
        logits = model(text().to("cuda")[:, :-1])
        probabilities = logits.softmax(-1)
        del logits
        largest = probabilities.amax()
        del probabilities
        print(largest.item())


if __name__ == "__main__":
    main(before=before, after=after)
