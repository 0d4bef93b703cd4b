"""How large the classes and functions of the product are, as universal-ctags sees them.

python tests/structure/sizes.py prints the largest ones.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import tree

# The folders of the product. Tests and benchmarks follow other rules: a fixture may be long.
PRODUCT = ("adapters/", "allocator/", "base/", "include/", "interpose/", "simulator/", "tools/")
PRODUCT += ("tracer/",)
# Macros that do not belong to a declaration: annotations of locks and exported names, attributes.
IGNORED = ("VRAMSTOW_CAPABILITY+", "VRAMSTOW_SCOPED_CAPABILITY", "VRAMSTOW_GUARDED_BY+")
IGNORED += ("VRAMSTOW_PT_GUARDED_BY+", "VRAMSTOW_ACQUIRED_BEFORE+", "VRAMSTOW_ACQUIRED_AFTER+")
IGNORED += ("VRAMSTOW_REQUIRES+", "VRAMSTOW_EXCLUDES+", "VRAMSTOW_ACQUIRE+", "VRAMSTOW_RELEASE+")
IGNORED += ("VRAMSTOW_TRY_ACQUIRE+", "VRAMSTOW_ASSERT_HELD+", "VRAMSTOW_LOCK_RETURNED+")
IGNORED += ("VRAMSTOW_NO_LOCK_ANALYSIS",)


class NoParserError(Exception):
    """Raised if universal-ctags is not installed."""


@dataclass
class Function:
    """A function with a body."""

    name: str  # includes the class: Pool::Allocate
    path: str
    line: int
    lines: int

    @property
    def room(self) -> str:
        return self.path.partition("/")[0]


@dataclass
class Class:
    """A class, including its functions that other files define."""

    name: str
    path: str
    line: int
    body_lines: int
    private_functions: int = 0
    members: list[Function] = field(default_factory=list)  # defined outside the body

    @property
    def room(self) -> str:
        return self.path.partition("/")[0]

    @property
    def lines(self) -> int:
        return self.body_lines + sum(member.lines for member in self.members)

    @property
    def sources(self) -> set[str]:
        return {member.path for member in self.members if member.path.endswith(".cc")}


def short(scope: str) -> str:
    """Returns the name without namespaces: the parts of vramstow::__anon1::Pool::Hook that are
    classes."""
    parts = [part for part in scope.split("::") if not part.startswith("__anon")]
    return "::".join(part for part in parts if not part[:1].islower())


def tags(
    root: Path,
    names: Sequence[str],
    *,
    kinds: str = "+p-d-e-g-l-m-t-v-x",
    fields: str = "+neaKsS",
) -> list[dict[str, object]]:
    """Returns the tags that universal-ctags finds in these files."""
    program = shutil.which("ctags")
    if program is None:
        raise NoParserError("ctags is missing: tests/run installs universal-ctags")
    command = [program, "--quiet", "--output-format=json", "--languages=C++", "--langmap=C++:.h.cc"]
    command += [f"--kinds-C++={kinds}", f"--fields={fields}", "--sort=no", "-f", "-", "-L", "-"]
    command += [f"-I{name}" for name in IGNORED]
    result = subprocess.run(
        command, cwd=root, input="\n".join(names), check=True, capture_output=True, text=True
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


def measure(root: Path, names: Sequence[str]) -> tuple[list[Class], list[Function]]:
    """Returns the classes of these files and their functions with bodies, by path below root."""
    found = tags(root, names)
    classes: dict[tuple[str, str], Class] = {}
    for tag in found:
        if tag["kind"] not in ("class", "struct", "union") or "end" not in tag:
            continue
        scope = f"{tag.get('scope', '')}::{tag['name']}"
        path, line = str(tag["path"]), int(str(tag["line"]))
        # The path distinguishes a class that is local to a file from equally named ones of other
        # files.
        home = path if "__anon" in scope else path.partition("/")[0]
        body = int(str(tag["end"])) - line + 1
        if short(str(tag["name"])):
            classes[home, short(scope)] = Class(short(scope), path, line, body)
    functions = []
    for tag in found:
        scope = str(tag.get("scope", ""))
        path, line = str(tag["path"]), int(str(tag["line"]))
        room = path.partition("/")[0]
        of = classes.get((path, short(scope))) or classes.get((room, short(scope)))
        outside = of is None or not (of.path == path and of.line <= line < of.line + of.body_lines)
        if of is not None and not outside and tag.get("access") == "private":
            of.private_functions += tag["kind"] in ("function", "prototype")
        if tag["kind"] != "function" or "end" not in tag:
            continue
        name = "::".join(filter(None, [short(scope), str(tag["name"])]))
        function = Function(name, path, line, int(str(tag["end"])) - line + 1)
        functions.append(function)
        if of is not None and outside:
            of.members.append(function)
    return list(classes.values()), functions


@cache
def product() -> tuple[list[Class], list[Function]]:
    names = [tree.relative(path) for path in tree.code(".h", ".cc")]
    return measure(tree.ROOT, [name for name in names if name.startswith(PRODUCT)])


def main() -> int:
    classes, functions = product()
    for one in sorted(classes, key=lambda one: -one.lines)[:20]:
        private = f"{one.private_functions} private functions"
        print(f"{one.lines:5} lines, {len(one.sources)} .cc, {private}: {one.path} {one.name}")
    for function in sorted(functions, key=lambda one: -one.lines)[:30]:
        print(f"{function.lines:5} lines: {function.path}:{function.line} {function.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
