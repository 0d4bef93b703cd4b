"""Data types: a model in fp32, and the same model in bf16, for inference.

Group: size
Claim: tutorials say that half the bytes per number need half the memory.
Do: For inference, load weights in the type in which they were trained or published, not in fp32.
"""

import torch
from workload import LanguageModel, evaluate, main

WIDTH = 768


@torch.no_grad()
def before() -> None:
    evaluate(LanguageModel(WIDTH).to("cuda"), batch=4)


@torch.no_grad()
def after() -> None:
    evaluate(LanguageModel(WIDTH).to("cuda", torch.bfloat16), batch=4)


if __name__ == "__main__":
    main(before=before, after=after)
