"""A pytest plug-in for torch_memory_saver's tests. In LD_PRELOAD it puts the saver's hook after the
interposer, where the saver's own functions put it first. The hook stays before the runtime."""

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
