"""torch.no_grad(): an evaluation that keeps nothing for a backward pass.

Group: lifetime
Claim: tutorials say that memory for activations is saved.
Do: Put every evaluation under torch.no_grad() or torch.inference_mode().
"""

import torch
from workload import LanguageModel, evaluate, main


def before() -> None:
    evaluate(LanguageModel().to("cuda"))


@torch.no_grad()
def after() -> None:
    evaluate(LanguageModel().to("cuda"))


if __name__ == "__main__":
    main(before=before, after=after)
