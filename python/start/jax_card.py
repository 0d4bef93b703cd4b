"""Has JAX use the simulated card.

JAX asks for the card's file in /dev before it loads CUDA, and takes the CPU where there is none. On
a card, XLA then times many forms of each product that it compiles: to compute all of them would
take minutes, and times on a simulated card say nothing.
"""

from __future__ import annotations

import os
from types import ModuleType

MODULES = ("jax._src.hardware_utils",)
_WITHOUT_TRIALS = "--xla_gpu_autotune_level=0"


def prepare(module: ModuleType) -> None:
    """Changes one of MODULES, which was imported just now: before XLA reads its flags."""
    if hasattr(module, "has_visible_nvidia_gpu"):
        module.has_visible_nvidia_gpu = lambda: True
    # If an option occurs twice, XLA uses the later value, so the user's own value wins.
    os.environ["XLA_FLAGS"] = f"{_WITHOUT_TRIALS} {os.environ.get('XLA_FLAGS', '')}".rstrip()
