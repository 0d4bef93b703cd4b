"""Runs the step of an estimate in the process of the simulated run (see estimates.py)."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from typing import Any

# The name that multiprocessing gives the program's own file when another process imports it.
_MAIN = "__mp_main__"

is_running = False  # True in the process of a simulated run


def resolve(module: object, name: str) -> object:
    """Returns the object with this dotted name. Raises AttributeError if there is none."""
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _find_in(names: dict[str, Any], name: str) -> object:
    """Returns the object with this dotted name among the names of a module."""
    first, _, rest = name.partition(".")
    return resolve(names[first], rest) if rest else names[first]


def _find(target: dict[str, Any]) -> object:
    if "file" in target:
        return _find_in(runpy.run_path(target["file"], run_name=_MAIN), target["name"])
    if "main" in target:
        names = runpy.run_module(target["main"], run_name=_MAIN, alter_sys=True)
        return _find_in(names, target["name"])
    return resolve(importlib.import_module(target["module"]), target["name"])


def run(target: dict[str, Any]) -> None:
    """Calls the function that `target` names, or runs its script."""
    global is_running
    is_running = True
    # The caller's entries come first, in the caller's order. Entries that only this process has
    # follow.
    added = [entry for entry in sys.path if entry and entry not in target["path"]]
    sys.path[:] = [*target["path"], *added]
    if "script" in target:
        sys.argv[:] = [target["script"], *target["arguments"]]
        # As where Python runs the script, modules beside it can be imported.
        sys.path.insert(0, str(Path(target["script"]).resolve().parent))
        runpy.run_path(target["script"], run_name="__main__")
        return
    function = _find(target)
    assert callable(function)
    function()
