"""Writes the table of the driver functions that a library calls, with their versions.

The list has names without "cu", and CUDA's headers define the forms of each function. The newest
form in the oldest supported headers is used, so that the library does not depend on the headers of
the build; NAME=VERSION selects another one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cuda_headers
from driver_table import HEADERS

# The oldest headers that are supported.
VERSION = 13000


def read_list(path: Path) -> dict[str, int]:
    """Returns the newest version whose forms are used, by function name."""
    versions = {}
    for line in path.read_text().splitlines():
        for word in line.partition("#")[0].split():
            name, _, version = word.partition("=")
            versions[name] = int(version or VERSION)
    return versions


def row(name: str, limit: int, forms: set[cuda_headers.Form]) -> str:
    versions = [form.version for form in forms if form.version <= limit and not form.per_thread]
    per_thread = [form.version for form in forms if form.version <= limit and form.per_thread]
    if not versions:
        raise SystemExit(f"the headers have no cu{name} of version {limit} or before")
    if per_thread:
        return f"DRIVER_STREAM_FUNCTION({name}, {max(versions)}, {max(per_thread)})\n"
    return f"DRIVER_FUNCTION({name}, {max(versions)})\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=Path, action="append", required=True)
    parser.add_argument("--list", type=Path, required=True)
    parser.add_argument("--functions", type=Path, required=True)
    options = parser.parse_args()

    forms = cuda_headers.driver_forms(cuda_headers.read(options.include, HEADERS))
    wanted = read_list(options.list)
    options.functions.write_text(
        "".join(
            row(name, wanted[name], {form for form in forms if form.name == f"cu{name}"})
            for name in sorted(wanted)
        )
    )


if __name__ == "__main__":
    main()
