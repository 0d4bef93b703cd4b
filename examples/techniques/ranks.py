"""Runs a script as one rank of a job that torchrun starts once for each card."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch.distributed


def each_rank(variant: Callable[[], None]) -> Callable[[], None]:
    """Runs a variant as one rank of a group over NCCL."""

    @functools.wraps(variant)
    def run() -> None:
        torch.distributed.init_process_group("nccl")
        variant()
        torch.distributed.destroy_process_group()

    return run
