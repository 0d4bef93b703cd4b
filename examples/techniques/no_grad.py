"""torch.no_grad(): an evaluation that saves nothing for a backward pass.

Group: lifetime
Claim: tutorials say that it saves the memory of activations.
Do: Run every evaluation under torch.no_grad() or torch.inference_mode().
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
