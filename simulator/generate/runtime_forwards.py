"""Writes the functions of the runtime that forward their arguments to the driver unchanged.

The list says how, and for which names without "cuda"; the driver's function has the same name with
"cu", or that behind the "=":

    HOW NAME… NAME=DRIVER-NAME…

HOW is a function of cudart/runtime.h: Call, CallWithoutContext or Ask. Functions that have a
per-thread form go to a file of their own, which is compiled twice.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import cuda_headers

DECLARATION = re.compile(r"\bcudaError_t\s+CUDARTAPI\s+(\w+)\s*\(([^;]*)\)\s*;")
DEFAULT = re.compile(r"\s+__dv\([^)]*\)")  # the default value of a parameter in a declaration


def read_list(path: Path) -> dict[str, tuple[str, str]]:
    """Maps a function of the runtime to how it forwards, and to the driver's function."""
    found = {}
    for line in path.read_text().splitlines():
        how, *names = line.partition("#")[0].split() or [""]
        for word in names:
            name, _, driver = word.partition("=")
            found[f"cuda{name}"] = (how, driver or name)
    return found


def definition(name: str, parameters: str, how: str, driver: str) -> str:
    text = DEFAULT.sub("", " ".join(parameters.split()))
    words = [] if text in ("", "void") else text.split(",")
    names = [re.findall(r"\w+", word)[-1] for word in words]
    arguments = ", ".join(f"Same({name})" for name in names)
    return (
        f"cudaError_t CUDARTAPI {name}({text}) {{\n"
        f"  return {how}([&](const DriverTable& driver) {{\n"
        f"    return driver.{driver}({arguments});\n"
        f"  }});\n"
        f"}}\n"
    )


def write(wanted: dict[str, tuple[str, str]], text: str) -> tuple[str, str]:
    """Returns the definitions that are compiled once, and those that are compiled twice."""
    per_thread = {name for _, name in cuda_headers.PER_THREAD_NAME.findall(text)}
    written = {
        name: definition(name, parameters, *wanted[name])
        for name, parameters in DECLARATION.findall(text)
        if name in wanted
    }
    missing = sorted(wanted.keys() - written.keys())
    if missing:
        raise SystemExit(f"no header declares {', '.join(missing)}")
    once = "".join(made for name, made in written.items() if name not in per_thread)
    return once, "".join(made for name, made in written.items() if name in per_thread)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=Path, action="append", required=True)
    parser.add_argument("--header", action="append", required=True)
    parser.add_argument("--list", type=Path, required=True)
    parser.add_argument("--once", type=Path, required=True)
    parser.add_argument("--twice", type=Path, required=True)
    options = parser.parse_args()
    once, twice = write(read_list(options.list), cuda_headers.read(options.include, options.header))
    options.once.write_text(once)
    options.twice.write_text(twice)


if __name__ == "__main__":
    main()
