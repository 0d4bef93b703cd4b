"""vramstow's own offload: a job that is larger than its card, unchanged.

Group: recompute and move
Claim: none of others; a job that would die goes on, at the speed of the link to the host.
Card: memory=1GiB
Run before: --pool=on
Run after: --pool=on --offload=auto,host=2GiB
Dies: before
Do: Run it with --offload=auto when a job is a little too large: what was not touched for long
moves to the host, at the same address. A tensor that every step touches is better made smaller.
Note: Both variants are the same script; the flags differ. Eight models are kept and used in turn,
more than the card has room for.
"""

import torch
from workload import LanguageModel, evaluate, main

MODELS = 8


def several_models() -> None:
    models = [LanguageModel(width=768).to("cuda") for _ in range(MODELS)]
    with torch.no_grad():
        for model in models:
            evaluate(model, batch=2, steps=1)


if __name__ == "__main__":
    main(before=several_models, after=several_models)
