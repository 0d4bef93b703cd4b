"""How the kit starts commands: on a card, or in a rehearsal of the kit itself."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

# Rehearses the kit: the SPEC of a simulated card, and a vramstow that has the simulator.
SIMULATE = os.environ.get("VRAMSTOW_CARD_SIMULATE", "")
PROGRAM = os.environ.get("VRAMSTOW_CARD_PROGRAM", "")


@dataclass(frozen=True)
class Ended:
    """How a command ended; `status` is None where it ran out of time."""

    status: int | None
    out: str
    err: str
    seconds: float

    @property
    def failure_reason(self) -> str:
        """Why it did not end well, with the last line that it wrote; empty: it did."""
        if self.status == 0:
            return ""
        how = "ran out of time" if self.status is None else f"ended with status {self.status}"
        lines = self.err.strip().splitlines()
        # Behind the program's own words vramstow writes its summary.
        own = [line for line in lines if not line.startswith(("vramstow:", "  "))]
        lines = own or lines or [""]
        return f"{how}: {lines[-1][:200]}"


class Machine:
    """The bundle, the Python with PyTorch, and how much of the card may be taken."""

    def __init__(self, bundle: Path, python: str, memory_bytes: int, folder: Path) -> None:
        self.bundle = bundle
        self.python = python
        self.memory_bytes = memory_bytes
        self.folder = folder
        self.program = PROGRAM or str(bundle / "vramstow/native/bin/vramstow")
        self.timeout = 60.0  # of the step that is at work
        self.extra: dict[str, str] = {}  # variables that it needs
        beside = Path(self.program).parents[1] / "lib/vramstow/simulator/libcuda.so.1"
        self.driver = str(beside) if SIMULATE else "libcuda.so.1"

    def job(self, name: str, *arguments: str) -> list[str]:
        return [self.python, str(self.bundle / "jobs" / name), *arguments]

    def vramstow(self, *arguments: str) -> list[str]:
        return [self.program, *arguments]

    def under(self, command: list[str], *flags: str) -> list[str]:
        """The command under vramstow with these flags."""
        simulate = [f"--simulate={SIMULATE}"] if SIMULATE else []
        return self.vramstow("run", *simulate, *flags, "--", *command)

    def native(self, command: list[str]) -> list[str]:
        """The command as it runs without vramstow, but for what a rehearsal cannot do without."""
        return self.under(command, "--no-trace", "--level=segments") if SIMULATE else command

    def run(self, command: list[str]) -> Ended:
        unwanted = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH")
        environment = {name: value for name, value in os.environ.items() if name not in unwanted}
        environment = {k: v for k, v in environment.items() if not k.startswith("VRAMSTOW_")}
        environment |= {
            "PYTHONPATH": str(self.bundle),  # the package vramstow
            "PATH": f"{Path(self.python).parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # the same sums in each run
        }
        environment |= self.extra
        begin = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # so that what it started can be ended with it
        ) as child:
            try:
                out, err = child.communicate(timeout=self.timeout)
                status: int | None = child.returncode
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                out, err = child.communicate()
                status = None
        return Ended(status, out, err, time.monotonic() - begin)
