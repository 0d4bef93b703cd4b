"""A pytest plug-in for torch_memory_saver's tests: in LD_PRELOAD its hook comes behind the
interposer, where its own functions put it first. It stays before the runtime that it hooks."""

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
            before = [i for i, name in enumerate(others) if name.endswith("/libvramstow.so")]
            if before:
                others.insert(before[0] + 1, first)
                value = ":".join(others)
        with original(name, value):
            yield

    mode_preload.change_env = change
