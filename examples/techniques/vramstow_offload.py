"""vramstow's own offload: an unchanged job that is larger than its GPU.

Group: recompute and move
Claim: no figures by others; a job that would fail continues, at the speed of PCIe or NVLink.
Card: memory=1GiB
Run before: --pool=on
Run after: --pool=on --offload=auto,host=2GiB
Dies: before
Do: Run it with --offload=auto if a job is a little too large: memory that was not used for long
moves to the host, at the same address. If a tensor is used in every step, it is better to make it
smaller.
Note: Both variants are the same script with different flags. Eight models are used one after the
other; together they are larger than the GPU.
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
