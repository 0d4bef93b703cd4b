"""Programs under `vramstow run --share`, which use one simulated GPU together."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from built import VRAMSTOW, facts_of

PROGRAM = Path(__file__).parent / "programs/shares.py"
PATIENCE = int(os.environ.get("VRAMSTOW_PATIENCE", 240))  # seconds, on a busy machine
CARD = "h100,memory=512MiB,context=16MiB"
# Two programs with 75 MiB each do not fit, either, but an exchange takes a quarter of the time.
SMALL_CARD = "h100,memory=128MiB,context=16MiB"


def run_words(folder: Path, traces: Path, card: str = CARD, more: str = "") -> list[str]:
    """Returns the beginning of a command line: the program after it shares the simulated GPU of
    this test."""
    group = "" if "share=" in card else f",share=t{os.getpid()}"
    simulate = f"--simulate={card}{group}"
    share = f"--share=dir={folder / 'tables'}{more}"
    own = [simulate, share, f"--trace-dir={traces}", f"--control-dir={folder / 'control'}"]
    return [str(VRAMSTOW), "run", *own]


class Sharer:
    """One program under `vramstow run --share`."""

    def __init__(
        self,
        folder: Path,
        number: int,
        program: list[object],
        more: str,
        card: str,
        flags: tuple[str, ...],
    ) -> None:
        self.traces = folder / f"traces{number}"
        self.traces.mkdir()
        self.out = folder / f"out{number}"
        self.err = folder / f"err{number}"
        words = [*run_words(folder, self.traces, card, more), *flags, "--", sys.executable]
        self.process = subprocess.Popen(
            [*words, *map(str, program)],
            stdout=self.out.open("w"),
            stderr=self.err.open("w"),
        )

    @property
    def child(self) -> int:
        """Returns the program's own process id, once it runs."""
        end = time.monotonic() + PATIENCE
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while time.monotonic() < end:
            found = children.read_text().split()
            if found:
                return int(found[0])
            time.sleep(0.01)
        raise AssertionError("the program did not start")

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the program. `vramstow run` stops with it, so it gets SIGCONT, too."""
        os.kill(self.child, number)
        if number == signal.SIGCONT:
            os.kill(self.process.pid, number)

    def resident_mib(self) -> int:
        """Returns how much host memory the program has now."""
        status = Path(f"/proc/{self.child}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) // 1024

    def end(self) -> int:
        return self.process.wait(PATIENCE)

    def said(self) -> str:
        return self.out.read_text() + self.err.read_text()

    def waited_for_a_turn(self) -> bool:
        """Returns whether the summary of the program, which has ended, says so."""
        return re.search(r"had \d+ turns? on the GPU and waited", self.said()) is not None

    def rounds(self) -> int:
        return self.out.read_text().count("round")

    def wait_for_rounds(self, count: int) -> None:
        end = time.monotonic() + PATIENCE
        while self.rounds() < count and time.monotonic() < end:
            assert self.process.poll() is None, self.said()
            time.sleep(0.01)
        assert self.rounds() >= count, self.said()

    def shared(self) -> dict[str, int]:
        (process,) = self.shared_by_process()
        return process

    def shared_by_process(self) -> list[dict[str, int]]:
        """Returns what sharing did to each process that shared its GPU."""
        found = [
            {
                key.removeprefix("share."): int(value)
                for key, value in facts_of(trace)["facts"].items()
                if key.startswith("share.")
            }
            for trace in self.traces.glob("*.stow")
        ]
        return [shared for shared in found if shared]

    def kill(self) -> None:
        """Kills the program and `vramstow run`, if they still run, and waits for their ends.

        All tests of a file use one simulated GPU, on which a program that still ends holds memory.
        """
        killed: list[int] = []
        if self.process.poll() is None:
            for child in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
                killed += map(int, child.read_text().split())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        end = time.monotonic() + PATIENCE
        while any(map(_runs, killed)) and time.monotonic() < end:
            time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"  # nobody may wait for an orphan


def tables(folder: Path) -> list[Path]:
    return list((folder / "tables").iterdir())


Share = Callable[..., Sharer]
