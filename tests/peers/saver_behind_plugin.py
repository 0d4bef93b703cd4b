"""A pytest plug-in for torch_memory_saver's tests: its hook comes last in LD_PRELOAD, behind the
interposer, where its own functions put it first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from torch_memory_saver.hooks import mode_preload


def pytest_configure(config: pytest.Config) -> None:
    original = mode_preload.change_env

    @contextmanager
    def change(name: str, value: str) -> Iterator[None]:
        if name == "LD_PRELOAD":
            first, *others = value.split(":")
            value = ":".join([*others, first])
        with original(name, value):
            yield

    mode_preload.change_env = change
