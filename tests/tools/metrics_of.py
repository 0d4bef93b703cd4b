"""Runs a job under vramstow run --metrics, and reads its metrics, for the tests of metrics."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from built import BUILD, VRAMSTOW, free_port

OPEN_METRICS = "application/openmetrics-text"
HERE = Path(__file__).resolve().parent


class Job:
    def __init__(self, folder: Path, metrics: str, *flags: str, **environment: str) -> None:
        self.folder = folder
        self.stderr = folder / "stderr"
        settings = {"VRAMSTOW_CONTROL_DIR": str(folder / "control"), "VRAMSTOW_DECAY": "0"}
        with self.stderr.open("w") as stderr:
            self.process = subprocess.Popen(
                [
                    *(VRAMSTOW, "run", "--simulate=h200,memory=1GiB,count=2", "--no-trace"),
                    *(() if "--pool=off" in flags else ("--pool=on",)),
                    *(
                        f"--metrics={metrics}",
                        *flags,
                        "--",
                        sys.executable,
                        HERE / "metrics_job.py",
                    ),
                ],
                cwd=folder,
                env=os.environ | settings | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def do(self, line: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, self.said()
        return answer.rstrip("\n")

    @property
    def pid(self) -> int:
        """Returns the process of the job itself, which has a control socket."""
        [path] = (self.folder / "control").glob("*.sock")
        return int(path.stem)

    def said(self) -> str:
        return self.stderr.read_text()

    def end(self) -> tuple[int, str]:
        """Ends the job; returns the exit status, and the rest of stdout."""
        out, _ = self.process.communicate("quit\n", timeout=60)
        return self.process.returncode, out


@contextmanager
def job(folder: Path, metrics: str, *flags: str, **environment: str) -> Iterator[Job]:
    one = Job(folder, metrics, *flags, **environment)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait()


def get(
    port: int, path: str = "/metrics", accept: str = "*/*", method: str = "GET"
) -> tuple[int, str, str]:
    """Returns the status, the type and the body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers={"Accept": accept})
    answer = connection.getresponse()
    return answer.status, answer.headers["Content-Type"], answer.read().decode()


def within(seconds: float, done: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.05)
    return done()


__all__ = ["BUILD", "OPEN_METRICS", "Job", "free_port", "get", "job", "within"]
