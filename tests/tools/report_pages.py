"""Makes pages of vramstow report from any input and opens them in a browser."""

from __future__ import annotations

import functools
import json
import operator
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

from browser import Browser
from built import run_vramstow
from installation import WRITE_TRACE


def vramstow(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_vramstow(*arguments, timeout=120)


def make_page(folder: Path, *inputs: str | Path) -> Path:
    page = folder / "report.html"
    made = vramstow("report", *inputs, "-o", page)
    assert made.returncode == 0, made.stderr
    assert page.stat().st_size < 20_000_000
    return page


def show(browser: Browser, folder: Path, *inputs: Path) -> dict[str, Any]:
    """Makes the page of the inputs and opens it. Returns the facts of --json."""
    page = make_page(folder, *inputs)
    browser.errors.clear()
    browser.requests.clear()
    browser.open(page)
    facts = json.loads(vramstow("analyze", "--json", *inputs).stdout)
    # The page shows the figures of one process at a time, those of the first process at first.
    return facts["ranks"][0]


def own_trace(folder: Path, scenario: str = "small") -> Path:
    subprocess.run(
        [WRITE_TRACE, scenario],
        env=os.environ | {"VRAMSTOW_TRACE_DIR": str(folder)},
        check=True,
        timeout=60,
    )
    [trace] = folder.glob("*.stow")
    return trace


def look_up(facts: dict[str, Any], path: str) -> object:
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]
    return functools.reduce(operator.getitem, keys, facts)  # type: ignore[arg-type]


def readout(browser: Browser, element: str = "readout") -> dict[str, float]:
    data = browser.run(f"({{...document.getElementById('{element}').dataset}})")
    return {key: float(value) for key, value in data.items() if value.replace(".", "").isdigit()}


MIB = 1 << 20


def snapshot(
    path: Path, requests: list[tuple[str, int, int, int, list[tuple[str, int, str]]]]
) -> Path:
    """Returns a PyTorch memory snapshot of one device. A request has a kind, an address, bytes, a
    microsecond, and its frames (file, line, function), the innermost first."""
    trace = [
        {
            "action": action,
            "addr": address,
            "size": size,
            "stream": 0,
            "time_us": time,
            "frames": [
                {"filename": file, "line": line, "name": name} for file, line, name in frames
            ],
        }
        for action, address, size, time, frames in requests
    ]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    return path
