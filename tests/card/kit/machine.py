"""Starts the kit's commands with what they need, within the remaining time, and logs them.

Threads: several commands may run at once. `stop` ends them all, from any thread.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from kit import rehearsal
from kit.outcome import StoppedError


class NoTimeError(Exception):
    """Raised if the time for the whole kit is over, so that a command was ended or not started."""


@dataclass(frozen=True)
class Ended:
    """How a command ended; `status` is None if it exceeded its step's time."""

    status: int | None
    out: str
    err: str
    seconds: float

    @property
    def failure_reason(self) -> str:
        """Returns why the command failed, with its last line; empty if it succeeded."""
        if self.status == 0:
            return ""
        how = "ran out of time" if self.status is None else f"ended with status {self.status}"
        lines = self.err.strip().splitlines()
        # After the program's own output vramstow prints its summary.
        own = [line for line in lines if not line.startswith(("vramstow:", "  "))]
        lines = own or lines
        return f"{how}: {lines[-1][:200]}" if lines else how


def without_vramstow(preload: str) -> list[str]:
    """Returns the libraries that the caller preloads, except vramstow itself, which native runs
    must not have."""
    return [
        part for part in preload.replace(" ", ":").split(":") if part and "vramstow" not in part
    ]


def joined(*paths: str) -> str:
    return ":".join(path for path in paths if path)


class Machine:
    """The bundle, the Python with PyTorch, the limit of GPU memory, and the deadline."""

    def __init__(
        self, bundle: Path, python: str, memory_bytes: int, folder: Path, minutes: float = 60
    ) -> None:
        self.bundle = bundle
        self.python = python
        self.memory_bytes = memory_bytes
        self.folder = folder
        self.program = str(bundle / "vramstow/native/bin/vramstow")
        # The dynamic linker finds the driver by this name. It also searches LD_LIBRARY_PATH, which
        # all commands of the kit inherit.
        self.driver = "libcuda.so.1"
        self.is_rehearsal = bool(rehearsal.SIMULATE)
        self.end = time.monotonic() + minutes * 60
        self.timeout = 60.0  # seconds for each command of the current step
        self.step_end = self.end
        self.extra: dict[str, str] = {}  # variables that the step needs
        self.log: list[str] = []  # its commands and their output
        self._mutex = threading.Lock()
        self._children: set[subprocess.Popen[str]] = set()
        self._stopped = False
        self._beginning = False
        self._interrupted = ""

    def begin(self, command_seconds: float, step_seconds: float) -> None:
        """Begins a step, and forgets the results of the step before."""
        self.timeout = command_seconds
        self.step_end = time.monotonic() + step_seconds
        self.extra = {}
        self.log = []

    @property
    def seconds_left(self) -> float:
        return self.end - time.monotonic()

    def job(self, name: str, *arguments: str) -> list[str]:
        return [self.python, str(self.bundle / "jobs" / name), *arguments]

    def vramstow(self, *arguments: str) -> list[str]:
        return [self.program, *arguments]

    def under(self, command: list[str], *flags: str) -> list[str]:
        """Returns the command under vramstow with these flags."""
        return self.vramstow("run", *flags, "--", *command)

    def native(self, command: list[str]) -> list[str]:
        """Returns the command without vramstow; in a simulated run it traces nothing."""
        return ["/usr/bin/env", "VRAMSTOW_TRACE=0", *command] if self.is_rehearsal else command

    def environment(self) -> dict[str, str]:
        """Returns the caller's environment, without variables that would load vramstow into native
        runs."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("VRAMSTOW_")}
        rehearsed = rehearsal.environment(self.program)
        for name in ("LD_LIBRARY_PATH", "PYTHONPATH"):
            kept[name] = joined(rehearsed.pop(name, ""), kept.get(name, ""))
        # The bundle has the package vramstow.
        kept["PYTHONPATH"] = joined(str(self.bundle), kept["PYTHONPATH"])
        kept["LD_PRELOAD"] = joined(
            *without_vramstow(kept.get("LD_PRELOAD", "")), rehearsed.pop("LD_PRELOAD", "")
        )
        kept["PATH"] = joined(str(Path(self.python).parent), kept.get("PATH", "/usr/bin:/bin"))
        kept["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # gives the same sums in each run
        kept = {name: value for name, value in kept.items() if value}
        return kept | rehearsed | self.extra

    def stop(self) -> None:
        """Ends the running commands; no command can be started after that."""
        with self._mutex:
            self._stopped = True
            for child in self._children:
                os.killpg(child.pid, 9)

    def interrupt(self, signal_name: str) -> None:
        """Records the signal's name, and raises StoppedError unless a command is just being
        started."""
        self._interrupted = signal_name
        if not self._beginning:
            raise StoppedError(signal_name)

    def _begin(self, command: list[str]) -> subprocess.Popen[str]:
        with self._mutex:
            if self._stopped or self.seconds_left < 1:
                raise NoTimeError
            self._beginning = True
            child = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # its children can be ended with it
            )
            self._children.add(child)
            self._beginning = False
            return child

    def run(self, command: list[str]) -> Ended:
        """Runs a command to its end, or until its time is over. Raises NoTimeError, OSError."""
        begin = time.monotonic()
        child = self._begin(command)
        try:
            if self._interrupted:
                raise StoppedError(self._interrupted)
            limit = min(self.timeout, self.step_end - begin, self.seconds_left)
            out, err = child.communicate(timeout=max(limit, 0.1))
            status: int | None = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            out, err = child.communicate()
            status = None
        except BaseException:
            os.killpg(child.pid, 9)
            child.wait()
            raise
        finally:
            with self._mutex:
                self._children.discard(child)
        seconds = time.monotonic() - begin
        self.log.append(
            f"$ {' '.join(command)}\n(status {status}, {seconds:.1f} s)\n{out}\n{err}\n"
        )
        if self._stopped or (status is None and self.seconds_left < 1):
            raise NoTimeError
        return Ended(status, out, err, seconds)
