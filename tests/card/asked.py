"""Runs a program, and at its end writes the statistics of vramstow's pool and of PyTorch's
compiler.

asked.py FILE PROGRAM [ARGUMENTS…]: FILE gets JSON; the program is not changed.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import vramstow


def compiled_graphs() -> int:
    if "torch._dynamo" not in sys.modules:
        return 0
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def main() -> None:
    file, program = Path(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[2:]
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        stats = vramstow.stats()
        told = {
            "stats": None if stats is None else vars(stats),
            "why_not": vramstow.why_not(),
            "compiled_graphs": compiled_graphs(),
        }
        file.write_text(json.dumps(told))


if __name__ == "__main__":
    main()
