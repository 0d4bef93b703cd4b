"""Writes the table of the driver's functions and its per-thread forms, from CUDA's headers.

The headers' function pointer types define the forms of a function and the CUDA version that
introduced each. The exported names follow from the order of the versions: the first form has the
documented name, the second ends in _v2, and so on. A per-thread form belongs to the newest form
that existed when it was introduced, and passes its arguments on to that form.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import cuda_headers
from cuda_headers import Form

HEADERS = [
    "cudaTypedefs.h",
    "cudaGLTypedefs.h",
    "cudaEGLTypedefs.h",
    "cudaVDPAUTypedefs.h",
    "cudaProfilerTypedefs.h",
]


@dataclass
class Lists:
    """The list that is maintained by hand (functions.txt)."""

    newer: str = ""  # function pointer types, as a header would have them
    absent: set[str] = field(default_factory=set)  # names that the driver lacks on this platform
    refused: set[str] = field(default_factory=set)  # per-thread forms that are not served
    passed_on: dict[str, str] = field(default_factory=dict)  # per-thread form -> another form


def read_lists(path: Path) -> Lists:
    lists = Lists()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "typedef":
            lists.newer += line + "\n"
        elif words[0] == "absent":
            lists.absent.update(words[1:])
        elif words[0] == "refused":
            lists.refused.update(words[1:])
        elif words[0] == "forward" and len(words) == 3:
            lists.passed_on[words[1]] = words[2]
        else:
            raise SystemExit(f"{path}:{number}: a line is a typedef, absent, refused or forward")
    return lists


def plain_symbols(forms: list[Form]) -> dict[int, str]:
    """Returns the exported name of each form that is not per-thread, by version."""
    versions = sorted(form.version for form in forms if not form.per_thread)
    return {
        version: forms[0].name + (f"_v{place}" if place > 1 else "")
        for place, version in enumerate(versions, 1)
    }


def plain_symbol_of(form: Form, plain: dict[int, str]) -> str:
    return plain[max(version for version in plain if version <= form.version)]


def arguments(parameters: str) -> str:
    if parameters in ("", "void"):
        return ""
    return ", ".join(part.split()[-1].lstrip("*") for part in parameters.split(","))


def write_functions(by_name: dict[str, list[Form]]) -> str:
    lines = []
    for name in sorted(by_name):
        plain = plain_symbols(by_name[name])
        for form in sorted(by_name[name], key=lambda form: (form.version, form.per_thread)):
            symbol = plain_symbol_of(form, plain) + form.per_thread
            stream = "kPerThread" if form.per_thread else "kLegacy"
            lines.append(f"VRAMSTOW_DRIVER_FUNCTION({name}, {symbol}, {form.version}, {stream})\n")
    return "".join(lines)


def write_per_thread(by_name: dict[str, list[Form]], lists: Lists) -> str:
    undefinitions = set()
    lines = []
    for name in sorted(by_name):
        plain = plain_symbols(by_name[name])
        for form in sorted(by_name[name], key=lambda form: form.version):
            if not form.per_thread:
                continue
            target = plain_symbol_of(form, plain)
            symbol = target + form.per_thread
            if symbol in lists.refused:
                continue
            target = lists.passed_on.get(symbol, target)
            undefinitions.update((name, target, symbol))
            lines.append(
                f"CUresult {target}({form.parameters});\n"
                f"CUresult {symbol}({form.parameters}) {{\n"
                f"  const vramstow::simulator::PerThreadDefault scope;\n"
                f"  return {target}({arguments(form.parameters)});\n"
                f"}}\n"
            )
    return "".join(f"#undef {name}\n" for name in sorted(undefinitions)) + "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=Path, action="append", required=True)
    parser.add_argument("--list", type=Path, required=True)
    parser.add_argument("--functions", type=Path, required=True)
    parser.add_argument("--per-thread", type=Path, required=True)
    options = parser.parse_args()

    lists = read_lists(options.list)
    text = cuda_headers.read(options.include, HEADERS)
    by_name = defaultdict(list)
    for form in cuda_headers.driver_forms(text + lists.newer):
        if form.name not in lists.absent:
            by_name[form.name].append(form)
    options.functions.write_text(write_functions(by_name))
    options.per_thread.write_text(write_per_thread(by_name, lists))


if __name__ == "__main__":
    main()
