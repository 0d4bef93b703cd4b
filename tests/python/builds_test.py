"""python/start/builds.py compiles PyTorch's adapters at the same time, and reports it once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "python/start/builds.py"
# A compiler that waits until the other build has begun, too. If the two builds ran one after the
# other, the first one would fail after a minute.
PROGRAM = """#!/bin/sh
touch "{folder}/begun$6"
for i in $(seq 600); do
  [ -e "{folder}/begun--one" ] && [ -e "{folder}/begun--other" ] && break
  sleep 0.1
done
[ "$i" -lt 600 ] || exit 9
sleep 1
case $6 in
  --one) echo "/compiled/one.so" ;;
  *) echo "vramstow adapter: there is no compiler." >&2; exit 1 ;;
esac
"""


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("vramstow_builds", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "_LONG", 0.1)
    return module


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "program"
    file.write_text(PROGRAM.format(folder=tmp_path))
    file.chmod(0o755)
    return str(file)


def test_all_are_built_at_the_same_time_and_each_tells_how_it_ended(
    builds: ModuleType, program: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ended = builds.run(program, "/torch", {"ONE": ("--one",), "OTHER": ("--other",)})
    assert (ended["ONE"].status, ended["ONE"].file) == (0, "/compiled/one.so")
    assert (ended["OTHER"].status, ended["OTHER"].why) == (1, "there is no compiler")
    # Both builds together print the message only once.
    assert capfd.readouterr().err == (
        "vramstow: compiling libraries for this PyTorch (only once); this takes about 15 seconds.\n"
    )


def test_a_terminal_gets_a_bar_that_goes_away(
    builds: ModuleType,
    program: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    builds.run(program, "/torch", {"ONE": ("--one",), "OTHER": ("--other",)})
    shown = capsys.readouterr().err
    assert "once) [" in shown and " s left" in shown
    assert "\n" not in shown and shown.endswith("\r\033[K")


def test_what_is_ready_at_once_is_not_spoken_of(
    builds: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "quick"
    file.write_text("#!/bin/sh\necho /compiled/quick.so\n")
    file.chmod(0o755)
    builds._LONG = 60
    assert builds.run(str(file), "/torch", {"ONE": ()})["ONE"].file == "/compiled/quick.so"
    assert capfd.readouterr().err == ""
