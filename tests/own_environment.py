"""A Python environment in a separate folder, made by pip and removed at the end, or retained."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


class OwnEnvironment:
    """The common parts of a client's and a release's environment."""

    def __init__(self, folder: Path, *, keep: bool) -> None:
        self._folder = folder
        self._keep = keep

    @property
    def python(self) -> Path:
        return self._folder / "bin/python"

    def remove(self) -> None:
        if not self._keep:
            self._clear()

    def _clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _run(*command: str | Path) -> None:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        if ran.returncode != 0:
            raise OSError(f"{' '.join(map(str, command[:5]))} failed; see above")
