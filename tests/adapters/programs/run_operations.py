"""Runs every operation on the CPU and on the device, and prints the differences, as JSON."""

from __future__ import annotations

import json
import sys

import operations
import torch

NOTHING_TO_COMPARE = "not on the CPU: "


def main() -> None:
    found: dict[str, str] = {}
    wanted = sys.argv[1:] or list(operations.CASES)
    for name in wanted:
        torch.manual_seed(0)
        try:
            theirs = operations.CASES[name]("cpu")
        except RuntimeError as error:
            found[name] = f"{NOTHING_TO_COMPARE}{error}".splitlines()[0]
            continue
        torch.manual_seed(0)
        try:
            ours = operations.CASES[name]("cuda")
            found[name] = operations.differs(ours, theirs)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
