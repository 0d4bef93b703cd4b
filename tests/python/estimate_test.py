"""vramstow.estimate simulates a step in a separate process, and the caller gets no device."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from built import run_program
from conftest import package_environment

# A step that uses the driver only, without PyTorch.
STEP = """
def take(size):
    import device  # only where there is one
    device.allocate(size)
def step():
    take(1 << 30)
def needs(model, batch=1):
    pass
def fails():
    take(4096)
    raise ValueError("no such dataset")
def idle():
    pass
def greedy():
    take(6 << 30)
class Trainer:
    @staticmethod
    def step():
        take(2 << 30)
"""


def python(
    folder: Path, program: str, *, as_module: bool = False
) -> subprocess.CompletedProcess[str]:
    """Runs a program whose file is job.py, beside the module `steps`."""
    (folder / "steps.py").write_text(STEP)
    (folder / "job.py").write_text(program)
    return run_program(
        sys.executable,
        *(("-m", "job") if as_module else ("job.py",)),
        cwd=folder,
        env=package_environment(),
        timeout=240,
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def test_a_function_a_name_and_a_script_are_the_same_step(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/beside.py").write_text("from steps import step\n")
    (tmp_path / "folder/script.py").write_text(
        "import beside, sys, steps\nassert sys.argv[1:] == ['--two words']"
        "\nif __name__ == '__main__':\n    beside.step()\n"
    )
    program = """
import vramstow, steps
def own():
    steps.step()
if __name__ == "__main__":
    found = [
        vramstow.estimate(steps.step, card="h100"),
        vramstow.estimate("steps:step", "h100"),
        vramstow.estimate("folder/script.py", "h100", ["--two words"]),
        vramstow.estimate(own, "h100"),
        vramstow.estimate(steps.Trainer.step, "h100"),
    ]
    one = found[0]
    assert found[1] == found[2] == found[3] == one, found
    assert one.fits and one.name == "NVIDIA H100 80GB HBM3" and one.out_of_memory == 0
    assert one.peak_bytes == sum(one.parts.values()) == (1 << 30) + one.parts["context"], one
    assert one.spare_bytes == one.total_bytes - one.peak_bytes
    assert found[4].peak_bytes == one.peak_bytes + (1 << 30)
    print(one)
    # The process that asks for the estimate has neither a device nor any library of vramstow.
    assert not vramstow.active() and "libcuda" not in open("/proc/self/maps").read()
"""
    (line,) = said(python(tmp_path, program))
    assert line.startswith("h100: fits, 1.5 GiB at the peak of 79.2 GiB: "), line


@pytest.mark.parametrize("as_module", [False, True])
def test_a_static_method_of_the_program_is_found_by_its_name(
    tmp_path: Path, as_module: bool
) -> None:
    program = """
import vramstow, steps
class Job:
    class Inner:
        @staticmethod
        def step():
            steps.step()
if __name__ == "__main__":
    print(vramstow.estimate(Job.Inner.step, "h100"))
"""
    (line,) = said(python(tmp_path, program, as_module=as_module))
    assert line.startswith("h100: fits, 1.5 GiB at the peak of 79.2 GiB: "), line


def test_what_does_not_fit_is_told_with_what_it_lacks(tmp_path: Path) -> None:
    program = """
import vramstow, steps
one = vramstow.estimate(steps.greedy, "h100,memory=4GiB")
assert not one.fits and one.out_of_memory > 0 and one.total_bytes == 4 << 30
assert one.peak_bytes == (6 << 30) + one.parts["context"]
assert one.spare_bytes == one.total_bytes - one.peak_bytes < 0
huge = vramstow.estimate("huge.py")
assert not huge.fits and huge.peak_bytes is None and huge.spare_bytes is None
print(one)
print(huge)
"""
    (tmp_path / "huge.py").write_text("import device\ndevice.allocate(2 << 40)\n")
    one, huge = said(python(tmp_path, program))
    assert one.startswith("h100,memory=4GiB: does not fit, 6.5 GiB at the peak of 4.0 GiB: ")
    assert huge == "h100: does not fit, not even into 1 TiB"


@pytest.mark.parametrize(
    ("step", "error", "words"),
    [
        ("steps.needs", "TypeError", "needs needs model: the step is called without arguments"),
        ("lambda: None", "TypeError", "<lambda> has no name in a module"),
        ("42", "TypeError", "42 is not a function"),
        ("'steps'", "ValueError", "'steps' is neither 'module:function' nor a script"),
        ("'nowhere.py'", "FileNotFoundError", "the script nowhere.py does not exist"),
        ("'nowhere:step'", "EstimateError", "No module named 'nowhere'"),
        ("'steps:other'", "EstimateError", "no attribute 'other'"),
        ("steps.fails", "EstimateError", "ValueError: no such dataset"),
        ("steps.idle", "EstimateError", "used no device memory"),
        ("steps.step, 'nocard'", "EstimateError", 'there is no card "nocard"'),
        ("steps.step, 'h100,a100'", "ValueError", "names 2 GPUs: give one"),
        ("steps.step, 'h100', ['x']", "TypeError", "arguments are for scripts only"),
    ],
)
def test_what_cannot_be_rehearsed_gets_one_sentence(
    tmp_path: Path, step: str, error: str, words: str
) -> None:
    program = f"""
import vramstow, steps
try:
    print(vramstow.estimate({step}))
except Exception as error:
    print(type(error).__name__, str(error))
"""
    (line,) = said(python(tmp_path, program))
    assert line.startswith(f"{error} ") and words in line, line


def test_a_call_that_the_rehearsal_would_repeat_is_refused(tmp_path: Path) -> None:
    done = python(
        tmp_path,
        "import vramstow, steps\ndef own(): steps.step()\nprint(vramstow.estimate(own))\n",
    )
    assert done.returncode == 1
    assert "put the call behind if __name__ == '__main__'" in done.stderr.splitlines()[-1]


def test_a_function_of_an_interactive_session_is_refused(tmp_path: Path) -> None:
    program = """
import vramstow
def step(): pass
try:
    vramstow.estimate(step)
except TypeError as error:
    print(error)
"""
    done = run_program(sys.executable, "-c", program, env=package_environment(), timeout=60)
    assert said(done) == [
        "step is defined in an interactive session, so another process cannot import it: write it "
        "into a file, and import it from there"
    ]


def is_running(pid: int) -> bool:
    """True if the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_interrupt_ends_the_rehearsal_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    (tmp_path / "long.py").write_text(
        "import os, time, device\ndevice.allocate(4096)\n"
        "open('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    (tmp_path / "job.py").write_text("import vramstow\nvramstow.estimate('long.py')\n")
    with subprocess.Popen(
        [sys.executable, "job.py"],
        cwd=tmp_path,
        env=package_environment() | {"TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
    ) as job:
        pid = tmp_path / "pid"
        deadline = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    deadline = time.monotonic() + 60
    while is_running(int(pid.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(int(pid.read_text()))
    assert list(folder.glob("vramstow-*")) == []
