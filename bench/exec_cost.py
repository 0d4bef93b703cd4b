"""Measures what the preload adds to the start of a program that does not use CUDA.

python bench/exec_cost.py [--rounds 2000] [--limit-us 100]
"""

from __future__ import annotations

import argparse

from side_by_side import compare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--limit-us", type=float, default=100, help="more than this is a failure")
    arguments = parser.parse_args()
    result = compare(["/bin/true"], arguments.rounds)
    added = result.added.wall * 1e6
    print(
        f"/bin/true: {result.without.wall * 1e6:.0f} us without, "
        f"{result.with_preload.wall * 1e6:.0f} us with the preload: {added:+.0f} us "
        f"({result.added.processor * 1e6:+.0f} us of processor time)"
    )
    return 0 if added <= arguments.limit_us else 1


if __name__ == "__main__":
    raise SystemExit(main())
