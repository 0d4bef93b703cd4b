"""Lets JAX use the simulated card.

JAX looks for the GPU's file in /dev before it loads CUDA, and uses the CPU if there is none. On a
GPU, XLA then measures many variants of each matrix product that it compiles. On the simulated card
that would take minutes, and the measured times would mean nothing.
"""

from __future__ import annotations

import os
from types import ModuleType

MODULES = ("jax._src.hardware_utils",)
_WITHOUT_TRIALS = "--xla_gpu_autotune_level=0"


def prepare(module: ModuleType) -> None:
    """Changes one of MODULES just after its import, before XLA reads its flags."""
    if hasattr(module, "has_visible_nvidia_gpu"):
        module.has_visible_nvidia_gpu = lambda: True
    # If an option occurs twice, XLA uses the later value. So the user's options come last.
    os.environ["XLA_FLAGS"] = f"{_WITHOUT_TRIALS} {os.environ.get('XLA_FLAGS', '')}".rstrip()
