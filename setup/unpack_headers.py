"""Unpacks the headers that adapters are compiled with from a wheel of PyTorch.

The arguments are the WHEEL, and the folder to unpack into.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

WANTED = ("torch/include/", "torch/share/cmake/Torch/")


def main() -> None:
    wheel, folder = Path(sys.argv[1]), Path(sys.argv[2])
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(WANTED)]
        if not names:
            sys.exit(f"{wheel.name} has no headers of PyTorch.")
        archive.extractall(folder, names)


if __name__ == "__main__":
    main()
