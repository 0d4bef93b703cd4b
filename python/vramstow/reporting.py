"""Reports on traces and other inputs, as text and as a page for notebooks."""

from __future__ import annotations

import html
import os
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import overload

from vramstow import library, program

_HEIGHT = 720  # the height of the page in a notebook, in pixels


def _ask(*arguments: str) -> str:
    """Returns the program's output. If it fails, raises RuntimeError with its message."""
    # The started program is not part of the job, so vramstow must neither trace nor simulate it.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [program.path(), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"vramstow {arguments[0]} failed")
    return done.stdout


def _remove(copy: str, process: int) -> None:
    """Removes the copy of a trace, unless this is a forked child of the process that made it."""
    if os.getpid() == process:
        Path(copy).unlink(missing_ok=True)


class _NoTraceError(ValueError):
    """This process has no trace on which to report."""


class Report:
    """The results of `vramstow analyze` and `vramstow report` for some inputs.

    str() returns the text. Notebooks show the page.
    """

    def __init__(self, *inputs: str | Path) -> None:
        self.inputs = [str(item) for item in inputs]
        self._copy: str | None = None
        if not self.inputs:
            own = library.dump()
            if own is None:
                raise _NoTraceError(
                    "this process has no trace: name a trace, a snapshot or a folder of them"
                )
            self.inputs = [own]
            self._copy = own
            # The copy of the trace may be large, so it is removed with this object.
            weakref.finalize(self, _remove, own, os.getpid())

    def text(self, *, full: bool = False) -> str:
        """Returns a report that fits on one screen, or with full=True all sections."""
        text = _ask("analyze", *(["--full"] if full else []), *self.inputs)
        return text if self._copy is None else library.name_whole(text, self._copy)

    def json(self) -> str:
        return _ask("analyze", "--json", *self.inputs)

    def html(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            _ask("report", *self.inputs, "-o", str(page))
            return page.read_text(encoding="utf-8")

    def save(self, target: str | Path) -> None:
        Path(target).write_text(self.html(), encoding="utf-8")

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        # The page gets its own frame, because it has its own style and a notebook may show several
        # pages.
        page = html.escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )


@overload
def report() -> Report | None: ...


@overload
def report(first: str | Path, *inputs: str | Path) -> Report: ...


def report(*inputs: str | Path) -> Report | None:
    """Reports on these traces, snapshots and folders, or on this process if there are none.

    Without inputs it returns None if this process has no trace.
    """
    try:
        return Report(*inputs)
    except _NoTraceError:
        return None
