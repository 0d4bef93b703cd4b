"""Finds the names of functions in CUDA's headers, and the driver's forms of each function.

A toolkit and the packages on PyPI spread the headers over different folders and leave some of them
out. So a header is searched in all folders, and a missing one counts as empty: the list of the
table then contains what the header would have declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# Macros that give a function's name the suffix of its per-thread form.
PER_THREAD_NAME = re.compile(r"__CUDA(?:RT)?_API_(PTDS|PTSZ)\s*\(\s*(\w+)\s*\)")
FORM = re.compile(
    r"typedef\s+\w+\s*\(\s*CUDAAPI\s*\*\s*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\s*\)\s*\(([^)]*)\)"
)


@dataclass(frozen=True)
class Form:
    """One form of a driver function: the version that introduced it, and its parameters."""

    name: str  # as documented
    version: int  # 12030 is CUDA 12.3
    per_thread: str  # "", "_ptsz" or "_ptds"
    parameters: str


def without_comments(text: str) -> str:
    return COMMENT.sub(" ", text)


def read(folders: Iterable[Path], headers: Iterable[str]) -> str:
    """Returns the text of the existing headers, without comments."""
    texts = []
    for header in headers:
        places = [folder / header for folder in folders]
        found = next((place for place in places if place.exists()), None)
        if found is not None:
            texts.append(without_comments(found.read_text(errors="replace")))
    return "\n".join(texts)


def function_names(text: str, prefix: str) -> set[str]:
    """Returns names that are declared or called in the text and begin with the pattern `prefix`."""
    names = set(re.findall(rf"\b({prefix}\w*)\s*\(", text))
    for kind, name in PER_THREAD_NAME.findall(text):
        if re.match(prefix, name):
            names.add(f"{name}_{kind.lower()}")
    return names


def driver_forms(text: str) -> set[Form]:
    """Returns the forms that function pointer types define, as those of cudaTypedefs.h."""
    return {
        Form(name, int(version), per_thread, " ".join(parameters.split()))
        for name, version, per_thread, parameters in FORM.findall(text)
    }
