"""Fixtures of the program's process tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from installation import Installation, install


@pytest.fixture(scope="session")
def installation_of_session(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install(tmp_path_factory.mktemp("installation"))


@pytest.fixture
def vramstow(installation_of_session: Installation, tmp_path: Path) -> Iterator[Installation]:
    """Makes an installation with an empty folder for traces."""
    place = installation_of_session
    shutil.rmtree(place.traces)
    place.traces.mkdir()
    yield place


@pytest.fixture
def own_runtime_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hides the sockets and tables of other jobs of this host. The path must be short."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()
