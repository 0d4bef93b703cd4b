"""Compiles what vramstow needs for a PyTorch: all of it at the same time, and one line shows it."""

import os
import subprocess
import sys
import time

_LONG = 3  # seconds after which a user wants to know what takes so long
_EXPECTED = 15  # seconds, on two cores that do nothing else
_BAR = 24
_WHAT = "vramstow: compiling what it needs for this PyTorch, once"


class Outcome:
    """How one build ended: the file that it printed, or the last line of what it complained of."""

    def __init__(self, build: subprocess.Popen) -> None:
        out, err = build.communicate()
        self.status = build.returncode
        self.file = out.strip()
        lines = err.strip().splitlines() or ["the adapter cannot be built"]
        self.why = lines[-1].removeprefix("vramstow adapter: ").rstrip(".")


class _Line:
    """Says once that it takes a while; on a terminal it shows how far it is."""

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
    """The outcome of `program adapter build` with the options that each name has."""
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
                build.wait(timeout=0.5)  # it prints less than a pipe holds
                break
            except subprocess.TimeoutExpired:
                line.show()
    line.close()
    return {name: Outcome(build) for name, build in builds.items()}
