"""The folder of the results, complete after every step: results.json, results.md, and some logs.

The folder may be copied at any time. It has at most FILES files of MOST_BYTES in all, in one
subfolder. Each file is written under another name and then renamed, so that no reader finds half of
one.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from kit.outcome import FAILED
from kit.page import page

FILES = 8
MOST_BYTES = 16 << 20
LOGS = "logs"
# There are two result files besides the logs; the last log gets the remaining space.
OWN_LOGS = FILES - 4
PAGES_BYTES = 1 << 20  # reserved for results.json and results.md


def replace(file: Path, text: str) -> None:
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text, errors="replace")
    os.replace(beside, file)


class Results:
    def __init__(self, folder: Path, about: dict) -> None:
        self._folder = folder
        self.about = about
        self.steps: list[dict] = []
        self._log_bytes = 0
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / LOGS, ignore_errors=True)
        self.write()

    def _keep_log(self, name: str, log: str) -> str:
        """Returns the file's path relative to the folder."""
        (self._folder / LOGS).mkdir(exist_ok=True)
        kept = sum(step["outcome"] == FAILED for step in self.steps)
        file = self._folder / LOGS / f"{name.replace(' ', '_') if kept < OWN_LOGS else 'more'}.log"
        text = f"== {name}\n{log}"
        left = MOST_BYTES - PAGES_BYTES - self._log_bytes
        coded = text.encode(errors="replace")
        if len(coded) > left:
            half = max(left // 2 - 100, 0)
            cut = f"\n… {len(coded) - 2 * half} bytes are left out …\n".encode()
            coded = coded[:half] + cut + coded[len(coded) - half :]
        self._log_bytes += len(coded)
        before = file.read_text() if file.exists() else ""
        replace(file, before + coded.decode(errors="replace"))
        return f"{LOGS}/{file.name}"

    def add(self, step: dict, log: str) -> None:
        if step["outcome"] == FAILED:
            step["log"] = self._keep_log(step["name"], log)
        self.steps.append(step)
        self.write()

    def write(self) -> None:
        results = {
            "schema": {"name": "vramstow.card", "version": 2},
            "about": self.about,
            "steps": self.steps,
        }
        replace(self._folder / "results.json", json.dumps(results, indent=1) + "\n")
        replace(self._folder / "results.md", page(results))
