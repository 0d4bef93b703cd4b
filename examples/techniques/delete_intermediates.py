"""del: intermediate results go before the next large thing is made.

Group: lifetime
Claim: tutorials advise del for large tensors that are not needed any more.
Do: Delete before the peak, or better: let the name end with a function.
Note: A name lives to the end of its function, or until it is given something new, and in a loop
that is after the new value was made: the old and the new one are there together.
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
