"""Lazy loading of CUDA modules: kernels are loaded to the device when they are first used.

Group: start-up
Claim: 666.6 → 287.0 MB of GPU memory.
Do: Nothing: this is the default since CUDA 12.2. Look for CUDA_MODULE_LOADING=EAGER in old scripts
and images.
Note: A simulated run cannot show this, because a simulated GPU loads no code, so both variants are
the same. On a real GPU it is not visible as an allocation, either: only the used memory of the GPU
shows it.
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
