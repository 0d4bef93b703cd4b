"""PyTorch's adapter: the tensors that its jobs allocate, and where the pool puts them.

Frees at the same time come in any order, because PyTorch's autograd thread and Python both free. So
only the number of frees of each size is compared.
"""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import golden

WATCHED = golden.ROOT / "tests/adapters/programs/watched.py"
EXAMPLES = golden.ROOT / "examples"
SHORT = {"mlp": ["--steps", "4"], "cuda_graph": []}
LONG = {
    "transformer": ["--steps", "2"],
    "convnet": ["--steps", "3"],
    "lstm": ["--steps", "3"],
    "attention": ["--steps", "1"],
}


def watched(build: Path, folder: Path, name: str, options: list[str]) -> str:
    target = folder / f"{name}.json"
    environment = {key: text for key, text in os.environ.items() if "VRAMSTOW" not in key}
    # The adapter is compiled once for each build.
    environment |= {
        "VRAMSTOW_POOL": "on",
        "VRAMSTOW_LEVEL": "tensors",
        "VRAMSTOW_ADAPTER_DIR": str(build / "golden-adapters"),
    }
    command = [build / "bin/vramstow", "run", "--simulate=h200", "--trace-dir", folder, "--"]
    command += [sys.executable, WATCHED, target, EXAMPLES / f"{name}.py", *options]
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    if not target.exists() or "not its tensors" in result.stderr:
        raise AssertionError(f"{name}: {result.stderr[-4000:]}")
    requests = json.loads(target.read_text())
    frees = collections.Counter(size for action, size in requests if action == "free_requested")
    lines = [f"{action} {size}" for action, size in requests if action != "free_requested"]
    lines += [f"freed {count} times {size}" for size, count in sorted(frees.items())]
    return "\n".join(lines) + "\n"


def jobs(chosen: dict[str, list[str]], build: Path, folder: Path) -> golden.Outputs:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise golden.NotHereError("no PyTorch: tests/run without --quick installs it") from None
    for name, options in chosen.items():
        yield name, watched(build, folder, name, options)


SECTIONS = {"adapter": partial(jobs, SHORT), "adapter-long": partial(jobs, LONG)}
