"""Lazy loading of CUDA's modules: kernels come to the device when they are first used.

Group: start-up
Claim: 666.6 → 287.0 MB of the device.
Do: Nothing: it is the default since CUDA 12.2. Look for CUDA_MODULE_LOADING=EAGER in old scripts
and images.
Note: A rehearsal cannot show it: a simulated card loads no code, and both variants are the same
there. On a card nothing of it is an allocation: only what is used of the card tells.
"""

import os
import sys

from workload import LanguageModel, evaluate, main

# The driver reads this when it is initialised, before any variant begins.
os.environ["CUDA_MODULE_LOADING"] = "EAGER" if "before" in sys.argv else "LAZY"


def run() -> None:
    evaluate(LanguageModel().to("cuda"), batch=1)


if __name__ == "__main__":
    main(before=run, after=run)
