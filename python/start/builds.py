"""Compiles the adapter's libraries for a PyTorch in parallel, and shows one line of progress."""

import os
import subprocess
import sys
import time

_LONG = 3  # seconds after which the progress message is printed
_EXPECTED = 15  # seconds, on two idle cores
_BAR = 24
_WHAT = "vramstow: compiling libraries for this PyTorch (only once)"


class Outcome:
    """The result of one build: the path of the library, or the last line of the error message."""

    def __init__(self, build: subprocess.Popen) -> None:
        out, err = build.communicate()
        self.status = build.returncode
        self.file = out.strip()
        lines = err.strip().splitlines() or ["the adapter could not be compiled"]
        self.why = lines[-1].removeprefix("vramstow adapter: ").rstrip(".")


class _Line:
    """The progress message of a long build. On a terminal it is updated."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._shown = False

    def show(self) -> None:
        passed = time.monotonic() - self._begin
        if passed < _LONG or (self._shown and not self._terminal):
            return
        self._shown = True
        if not self._terminal:
            print(f"{_WHAT}; this takes about {_EXPECTED} seconds.", file=sys.stderr, flush=True)
            return
        filled = min(_BAR - 1, int(_BAR * passed / _EXPECTED))
        left = int(_EXPECTED - passed)
        rest = f"about {left} s left" if left > 0 else "nearly done"
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {rest}"
        print(f"\r\033[K{_WHAT} {bar}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._shown and self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run(program: str, folder: str, wanted: dict) -> dict:
    """Runs `program adapter build` once for each name in `wanted`, with the options of that name.

    Returns the outcomes.
    """
    environment = dict(os.environ)
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH"):
        environment.pop(name, None)
    builds = {
        name: subprocess.Popen(
            [program, "adapter", "build", "--quiet", "--torch", folder, *options],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, options in wanted.items()
    }
    line = _Line()
    for build in builds.values():
        while True:
            try:
                build.wait(timeout=0.5)  # its output is shorter than a pipe's buffer
                break
            except subprocess.TimeoutExpired:
                line.show()
    line.close()
    return {name: Outcome(build) for name, build in builds.items()}
