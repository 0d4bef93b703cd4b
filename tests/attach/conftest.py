"""Plain PyTorch processes on a simulated GPU, started without vramstow as by any user."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from built import SIMULATOR, facts_of, run_program, run_vramstow

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = os.environ.get("VRAMSTOW_TEST_PYTHON", sys.executable)  # has the PyTorch that is observed
PATIENCE = 120  # seconds that a busy machine may need


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: only in the long run of all tests")


@functools.cache
def torch_folder() -> Path:
    """Returns the folder of that Python's PyTorch without importing it."""
    ask = "import importlib.util as u; print(u.find_spec('torch').origin)"
    found = run_program(PYTHON, "-c", ask, check=True)
    return Path(found.stdout.strip()).resolve().parent


def plain_environment(card: str = "h200") -> dict[str, str]:
    """Returns an environment with the simulated driver in place of a real one, but without
    vramstow."""
    cuda = re.search(r"^cuda.*?'(\d+)\.", (torch_folder() / "version.py").read_text(), re.M)
    assert cuda is not None
    names = {"12": (12, 11), "13": (13, 12)}[cuda[1]]
    libraries = [*SIMULATOR.glob(f"libcu*.so.{names[0]}"), *SIMULATOR.glob("libcu*.so.10")]
    libraries += SIMULATOR.glob(f"libcu[fs]*.so.{names[1]}")
    libraries += [SIMULATOR / "libcudnn.so.9", SIMULATOR / "libnccl.so.2"]
    libraries += [SIMULATOR / "libcusparseLt.so.0", SIMULATOR / "libnvidia-ml.so.1"]
    variables = {name: value for name, value in os.environ.items() if "VRAMSTOW" not in name}
    return variables | {
        "LD_LIBRARY_PATH": str(SIMULATOR),
        "LD_PRELOAD": " ".join(sorted({str(library) for library in libraries})),
        "VRAMSTOW_SIMULATED_CARD": card,
    }


def wait_until(is_true: Callable[[], bool]) -> None:
    """Fails the test if the condition does not become true, however busy the machine is."""
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


class Job:
    """A running program, and the folder with the files that it writes."""

    def __init__(
        self,
        folder: Path,
        *command: str,
        env: dict[str, str] | None = None,
        under: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*under, PYTHON, *command],
            cwd=folder,
            env=plain_environment() | (env or {}),
            stdout=subprocess.PIPE,
            stderr=(folder / "stderr").open("w"),
            text=True,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (self.folder / "stderr").read_text()
        return line.strip()

    def count(self, what: str) -> int:
        return len(os.listdir(f"/proc/{self.pid}/{what}"))

    def fewest(self, what: str) -> int:
        """Returns the least of many counts, to leave out objects that live only briefly."""
        counts = []
        for _ in range(100):
            counts.append(self.count(what))
            time.sleep(0.005)
        return min(counts)

    def wait_for(self, what: str, count: int) -> None:
        """Waits until there are no more than this number of threads ("task") or files ("fd")."""
        wait_until(lambda: self.count(what) <= count)

    def wait_for_steps(self, more: int) -> None:
        """Waits until grows.py has made this number of further steps."""
        steps = self.folder / "steps"
        least = steps.stat().st_size + more
        wait_until(lambda: steps.stat().st_size >= least)

    def resident_bytes(self) -> int:
        told = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(told) * os.sysconf("SC_PAGE_SIZE")

    def least_resident_bytes(self) -> int:
        """Returns the least of many samples: a thread that ends still has memory."""
        samples = []
        for _ in range(100):
            samples.append(self.resident_bytes())
            time.sleep(0.005)
        return min(samples)

    def tell(self, name: str) -> None:
        (self.folder / name).touch()

    def end(self) -> int:
        self.tell("stop")
        self.tell("end")
        return self.process.wait(PATIENCE)


Start = Callable[..., Job]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a program and waits until it is ready."""
    jobs: list[Job] = []

    def run(*command: str, **options: object) -> Job:
        job = Job(tmp_path, str(PROGRAMS / command[0]), *command[1:], **options)
        jobs.append(job)
        assert job.line() == "ready"
        return job

    yield run
    for job in jobs:
        job.process.kill()
        job.process.wait()


def attach(*arguments: object, status: int = 0, cwd: Path | None = None) -> str:
    """Returns the output of `vramstow attach`: its result, or its error message.

    Unless the test gives another time, it waits as long as a busy machine may need.
    """
    patience = () if "--patience" in arguments else ("--patience", f"{PATIENCE}s")
    done = run_vramstow("attach", *map(str, arguments), *patience, timeout=600, cwd=cwd)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr if status else done.stdout


def facts(trace: Path) -> dict:
    return facts_of(trace)
