"""No two classes of one program have the same name, because the linker would confuse them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import sizes
import tree

# Each row has the folders whose files are linked into one program or library.
PROGRAMS = (
    ("tools/", "allocator/", "tracer/", "base/"),
    ("interpose/", "allocator/", "tracer/", "base/"),
    ("simulator/driver/", "simulator/device/", "simulator/ptx/", "base/"),
    ("simulator/kernels/", "simulator/ptx/", "base/"),
)


def defined_twice(root: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Maps each class to the files that define it, if there are several."""
    found: dict[str, set[str]] = defaultdict(set)
    for tag in sizes.tags(root, names):
        scope = f"{tag.get('scope', '')}::{tag['name']}"
        if tag["kind"] not in ("class", "struct", "union") or "end" not in tag:
            continue
        line = (root / str(tag["path"])).read_text().splitlines()[int(str(tag["line"])) - 1]
        # A class that is local to a file has no name for the linker; a specialization has a
        # different name.
        if "__anon" not in scope and not re.search(rf"\b{tag['name']}<", line):
            found[scope].add(str(tag["path"]))
    return {scope: sorted(paths) for scope, paths in found.items() if len(paths) > 1}


def test_no_class_of_a_program_has_the_name_of_another() -> None:
    names = [tree.relative(path) for path in tree.code(".h", ".cc")]
    for rooms in PROGRAMS:
        here = [name for name in names if name.startswith(rooms)]
        assert len(here) > 50, f"too few files in {rooms}"
        twice = defined_twice(tree.ROOT, here)
        assert not twice, f"give one of them another name: {twice}"


def test_a_name_that_is_there_twice_is_noticed(tmp_path: Path) -> None:
    for name in ("a.h", "b.h"):
        (tmp_path / name).write_text(
            "namespace vramstow {\n"
            "class Twice {\n  int a_;\n};\n"
            "class Declared;\n"
            f"template <>\nstruct Special<{name[0]}> {{\n  int a;\n}};\n"
            "namespace {\nstruct Local {\n  int a;\n};\n}\n"
            f"struct Of{name[0]} {{\n  struct Part {{\n    int a;\n  }};\n}};\n"
            "}\n"
        )
    assert defined_twice(tmp_path, ["a.h", "b.h"]) == {"vramstow::Twice": ["a.h", "b.h"]}
