"""Measures what the preload adds to `import torch`.

python bench/import_torch_cost.py [--rounds 15] [--limit-percent 2]
"""

from __future__ import annotations

import argparse
import os

from side_by_side import ROOT, compare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limit-percent", type=float, default=2, help="more is a failure")
    arguments = parser.parse_args()
    python = os.fspath(ROOT / ".venv/bin/python")
    result = compare([python, "-c", "import torch"], arguments.rounds)
    wall = 100 * result.added.wall / result.without.wall
    processor = 100 * result.added.processor / result.without.processor
    print(
        f"import torch: {result.without.wall:.3f} s without, {result.with_preload.wall:.3f} s with "
        f"the preload: {wall:+.2f}% ({processor:+.2f}% of processor time)"
    )
    return 0 if wall <= arguments.limit_percent else 1


if __name__ == "__main__":
    raise SystemExit(main())
