"""Reads and writes sizes in the formats that people use: "2 GiB", "300MB", 4096."""

from __future__ import annotations

import re

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse(size: int | str) -> int:
    """Returns the size in bytes. Raises ValueError with one sentence if the text is no size."""
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"{size!r} is not a size: write bytes, or a text like '2 GiB' or '300 MB'")
    return round(float(found[1]) * _UNITS[found[2].upper()])


def text(size: int, signed: bool = False) -> str:
    """Returns the size as text, in the largest binary unit of which it has at least one."""
    sign = "-" if size < 0 else "+" if signed else ""
    value = float(abs(size))
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{sign}{value:.0f} B" if unit == "B" else f"{sign}{value:.1f} {unit}"
        value /= 1024
    return f"{sign}{value:.2f} TiB"
