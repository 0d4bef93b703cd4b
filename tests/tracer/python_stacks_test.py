"""Tests that the Python stacks in a trace agree with Python's own stacks, frame for frame."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import BUILD, run_program

HERE = Path(__file__).parent
MINORS = (10, 11, 12, 13, 14)


def interpreters() -> dict[str, str]:
    """Returns one Python of each version on this machine: this one, and those of PATH and pyenv."""
    found = {f"3.{sys.version_info.minor}": sys.executable}
    for minor in MINORS:
        path = shutil.which(f"python3.{minor}")
        if path is not None and "/shims/" not in path:
            found.setdefault(f"3.{minor}", path)
        root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
        for installed in sorted(root.glob(f"versions/3.{minor}.*/bin/python3.{minor}")):
            found.setdefault(f"3.{minor}", str(installed))
    return found


@pytest.fixture(scope="module", params=[f"3.{minor}" for minor in MINORS])
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict, dict]:
    """Returns Python's stacks and the trace's stacks, each by sequence number."""
    python = interpreters().get(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} here")
    folder = tmp_path_factory.mktemp("stacks")
    probe = BUILD / "tests" / "libstackprobe.so"
    script = HERE / "python_stacks.py"
    subprocess.run([python, str(script), str(probe), str(folder)], check=True, timeout=120)
    said = json.loads((folder / "truth.json").read_text())
    printed = run_program(
        str(BUILD / "tests" / "print_stacks"), str(folder / "python.stow"), check=True
    ).stdout
    seen: dict[str, list[list[str]]] = {}
    for line in printed.splitlines():
        fields = line.split("\t")
        if fields[0] == "event":
            frames = seen[fields[1]] = []
        else:
            frames.append(fields)
    return said, seen


def test_every_python_frame_is_there_in_order(run: tuple[dict, dict]) -> None:
    said, seen = run
    assert len(said["truth"]) > 5000
    assert set(seen) == set(said["truth"])
    for sequence, expected in said["truth"].items():
        frames = [[f[1], f[2], int(f[3])] for f in seen[sequence] if f[0] == "python"]
        assert frames == expected, f"event {sequence}"


def test_c_is_where_it_called_python_from(run: tuple[dict, dict]) -> None:
    said, seen = run
    assert said["through_c"]
    for sequence in said["through_c"]:
        # Frames of Python and frames of the probe (a C library) alternate; the innermost frame
        # comes first.
        turns: list[str] = []
        for frame in seen[str(sequence)]:
            kind = "python" if frame[0] == "python" else Path(frame[1]).name
            if kind in ("python", "libstackprobe.so") and turns[-1:] != [kind]:
                turns.append(kind)
        # The recorder is linked into the probe's library. So the recorder's own frames, which are
        # the innermost ones, have the library's name, too.
        assert turns == ["libstackprobe.so", "python"] * 4, f"event {sequence}"


def test_the_native_frames_go_on_to_the_beginning_of_the_thread(run: tuple[dict, dict]) -> None:
    _, seen = run
    for frames in seen.values():
        assert frames[0][0] == "native"
        assert frames[-1][0] == "native"
        # The outermost frame is the loader's if Python was started through the loader.
        beginnings = ("libc.so", "python", "libpython", "ld-linux")
        assert Path(frames[-1][1]).name.startswith(beginnings)


MANY_FUNCTIONS = """
import ctypes, sys
probe = ctypes.PyDLL(sys.argv[1])
assert probe.probe_open(sys.argv[2].encode(), 2) == 0
for i in range(25000):
    scope = {"record": probe.probe_record}
    exec(compile(f"def made_{i}():\\n    record()", "made.py", "exec"), scope)
    scope[f"made_{i}"]()
probe.probe_close()
"""


def test_functions_without_room_are_not_taken_for_their_callers(tmp_path: Path) -> None:
    """A trace keeps 24,576 functions; frames of later ones have a name that says so."""
    probe = BUILD / "tests" / "libstackprobe.so"
    subprocess.run(
        [sys.executable, "-c", MANY_FUNCTIONS, str(probe), str(tmp_path)], check=True, timeout=120
    )
    trace = tmp_path / "python.stow"
    assert b"stacks.full" in trace.read_bytes()
    printed = run_program(str(BUILD / "tests" / "print_stacks"), str(trace), check=True).stdout
    innermost = [
        event.split("\npython\t", 1)[1].split("\n")[0].split("\t")
        for event in printed.split("event\t")[1:]
    ]
    assert len(innermost) == 25000
    kept = 24500
    assert innermost[:kept] == [[f"made_{i}", "made.py", "2"] for i in range(kept)]
    assert innermost[-1] == ["(further functions)", "<unknown file>", "2"]
