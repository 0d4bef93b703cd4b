"""setup/show_build.py shows the expected time of a build and its progress, and writes its log."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tree

sys.path.insert(0, str(tree.ROOT / "setup"))

import show_build

# Two files of a folder and a link step; a file that exists already is not built again.
NINJA = """
rule make
  command = echo made $out && {command} $out
  description = $what
build room/CMakeFiles/room.dir/a.cc.o: make
  what = Building CXX object room/CMakeFiles/room.dir/a.cc.o
build room/CMakeFiles/room.dir/b.cc.o: make
  what = Building CXX object room/CMakeFiles/room.dir/b.cc.o
build done: make room/CMakeFiles/room.dir/a.cc.o room/CMakeFiles/room.dir/b.cc.o
  what = Linking CXX executable done
"""


def build(folder: Path, command: str = "touch") -> subprocess.CompletedProcess[str]:
    (folder / "build").mkdir(exist_ok=True)
    (folder / "build/build.ninja").write_text(NINJA.format(command=command))
    return subprocess.run(
        [
            sys.executable,
            tree.ROOT / "setup/show_build.py",
            "build",
            "log.txt",
            "--",
            *("ninja", "-C", "build", "done"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_build_is_announced_and_one_with_nothing_to_do_is_silent(tmp_path: Path) -> None:
    first = build(tmp_path)
    assert first.returncode == 0, first.stderr
    assert first.stderr.startswith("Building into build/: about ")
    assert "made done" in (tmp_path / "log.txt").read_text()
    assert not list((tmp_path / "build").glob("plan*"))
    again = build(tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_the_status_and_the_log_are_those_of_a_build_that_fails(tmp_path: Path) -> None:
    failed = build(tmp_path, command="false")
    assert failed.returncode == 1
    assert "FAILED: " in (tmp_path / "log.txt").read_text()


def test_builds_at_the_same_time_have_plans_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "build.ninja").write_text(NINJA.format(command="touch"))
    for _ in range(3):
        with ThreadPoolExecutor(8) as workers:
            plans = workers.map(lambda _: show_build.planned(tmp_path, ["done"]), range(16))
            assert [len(plan) for plan in plans] == [3] * 16


def test_files_that_are_compiled_as_one_weigh_as_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    for name, lines in (("a.cc", 100), ("b.cc", 300)):
        (tmp_path / "room" / name).write_text("//\n" * lines)
    together = tmp_path / "build/room/CMakeFiles/room.dir/Unity/unity_0_cxx.cxx"
    together.parent.mkdir(parents=True)
    together.write_text(
        "".join(f'#include "{tmp_path}/room/{name}"\n' for name in ("a.cc", "b.cc"))
    )
    one, both = (
        show_build.weight(
            f"Building CXX object room/CMakeFiles/room.dir/{name}.o", tmp_path / "build"
        )
        for name in ("a.cc", "Unity/unity_0_cxx.cxx")
    )
    assert both - one == 300
    link = show_build.weight("Linking CXX shared library lib/libroom.so", tmp_path / "build")
    assert link < one


def test_what_is_left_follows_from_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room/a.cc").write_text("//\n" * 1000)
    (tmp_path / "room/b.cc").write_text("//\n" * 5000)
    steps = [f"Building CXX object room/CMakeFiles/room.dir/{name}.cc.o" for name in "ab"]
    clock = iter((0.0, 10.0))
    monkeypatch.setattr(show_build.time, "monotonic", lambda: next(clock))
    work = show_build.Work(tmp_path / "build", steps)
    work.add(steps[0])
    # A quarter of the lines to compile, including those of headers, took ten seconds.
    assert work.text(steps[0]) == f"[{'#' * 6}{'.' * 18}]  25%, about 30 s left: room"
