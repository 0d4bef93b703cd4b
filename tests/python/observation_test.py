"""python/start/observation.py tries a census for half of the time that its caller waits."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[2] / "python/start/observation.py"
BUSY = 7
KEY = "_vramstow_observation"


class Clock:
    """A clock that advances only in calls of sleep."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def observation() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("vramstow_observation_file", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop(KEY, None)


def busy_until(observation: ModuleType, clock: Clock, end: float) -> Any:  # noqa: ANN401
    """Returns an observation whose library gets Python's lock only at that time."""
    library = SimpleNamespace(vramstow_version=1)

    def census(text: Any, size: object) -> int:  # noqa: ANN401
        if clock.now < end:
            return BUSY
        text.value = b"{}"
        return 0

    library.vramstow_census = census
    observation.ctypes = SimpleNamespace(
        CDLL=lambda name: library,
        cast=lambda *arguments: None,
        c_void_p=None,
        create_string_buffer=lambda size: type("Text", (), {"__len__": lambda self: size})(),
        c_size_t=int,
    )
    observation.time = clock
    observation.is_preloaded = lambda: False
    library.vramstow_get_table = None
    return observation.prepare(observation.Files("library", "observer", "census"))


@pytest.mark.parametrize(("patience", "is_told"), [(10, False), (60, True)])
def test_a_busy_interpreter_is_waited_for_as_long_as_the_user_says(
    observation: ModuleType, patience: float, is_told: bool
) -> None:
    clock = Clock()
    observed = busy_until(observation, clock, end=20)
    observed.path = "trace"
    files = {"library": "library", "observer": "observer", "census": "census"}
    request = files | {"action": "census", "folder": "", "patience": patience}
    if is_told:
        assert observation._answer(request)["census"] == {}
    else:
        with pytest.raises(observation.ObservationError, match="lock could not be acquired"):
            observation._answer(request)
        assert clock.now == pytest.approx(patience / 2, abs=0.1)
    assert observed.patience == 5


def asked(folder: Path) -> dict:
    files = {"library": "library", "observer": "observer", "census": "census"}
    answer = {"answer": str(folder / "answer-1.json")}
    return files | answer | {"action": "observe", "folder": "traces", "patience": 1}


def test_a_request_that_was_withdrawn_is_not_begun(observation: ModuleType, tmp_path: Path) -> None:
    observed = busy_until(observation, Clock(), end=0)
    (tmp_path / "answer-1.json.claim").touch()
    observation._serve(asked(tmp_path))
    observation._serve(asked(tmp_path / "gone"))
    assert not observed.path and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("was_there", [False, True])
def test_an_observation_whose_answer_nobody_reads_is_ended_again(
    observation: ModuleType, tmp_path: Path, was_there: bool
) -> None:
    observed = busy_until(observation, Clock(), end=0)
    folder = tmp_path / "request"
    folder.mkdir()
    ended = []

    def begin(traces: str) -> str:
        observed.path = f"{traces}/trace.stow"
        return observed.path

    def end() -> None:
        ended.append(observed.path)
        observed.path = ""

    observed.begin, observed.end = begin, end
    observed.path = "mine.stow" if was_there else ""
    claims = observation._claims

    def leave(request: dict) -> bool:
        claimed = claims(request)
        shutil.rmtree(folder)
        return claimed

    observation._claims = leave
    observation._serve(asked(folder))
    assert ended == ([] if was_there else ["traces/trace.stow"])
