"""Reads a technique: a script of examples/techniques, and the fields of its docstring.

The first line is the title. Fields follow as `Word: text`, where the text ends at the next field or
at an empty line. Group is the section of the page. Claim is what others published, in our words. Do
says what a reader should do, and Note why it is so. Card has options of the simulated GPU. Ranks is
the number of processes, which torchrun starts. Run VARIANT has flags of `vramstow run` that replace
--pool=off and --pool=on. Dies lists the variants that run out of memory.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "examples/techniques"
# Modules that the techniques share.
SHARED = {"workload", "host_memory", "ranks"}

GROUPS = (
    "monitoring",
    "start-up",
    "lifetime",
    "size",
    "recompute and move",
    "many devices",
    "fragmentation",
    "all together",
)
_FIELDS = {"Group", "Claim", "Do", "Note", "Card", "Ranks", "Dies"}


class BadTechniqueError(Exception):
    """Raised if the docstring of a script lacks a field; the text is one sentence that names the
    field."""


@dataclass(frozen=True)
class Technique:
    """`name` is the script's name; each text is one line, or empty if the docstring has no such
    field."""

    name: str
    title: str
    group: str
    claim: str
    do: str
    note: str = ""
    card: str = ""
    ranks: int = 1
    dies: tuple[str, ...] = ()
    flags: dict[str, list[str]] = field(default_factory=dict)
    variants: tuple[str, ...] = ("before", "after")

    @property
    def script(self) -> Path:
        return SCRIPTS / f"{self.name}.py"


def _fields(name: str, text: str) -> tuple[str, dict[str, str]]:
    title, _, rest = text.partition("\n")
    fields: dict[str, str] = {}
    current = ""
    for line in rest.splitlines():
        match = re.match(r"([A-Z]\w*(?: [a-z_]+)?): *(.*)", line)
        if match:
            current = match[1]
            if current not in _FIELDS and not current.startswith("Run "):
                raise BadTechniqueError(
                    f"{name}.py: its docstring has an unknown field '{current}'."
                )
            fields[current] = match[2]
        elif not line.strip():
            current = ""
        elif current:
            fields[current] += " " + line.strip()
        else:
            raise BadTechniqueError(f"{name}.py: its docstring has text outside a field: {line!r}.")
    return title, fields


def _variants(name: str, tree: ast.Module) -> tuple[str, ...]:
    """Returns the keyword arguments of the script's call of main()."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "main"
        ):
            found = tuple(keyword.arg or "" for keyword in node.keywords)
            if len(found) >= 2 and found[0] == "before" and found[-1] == "after":
                return found
    raise BadTechniqueError(f"{name}.py: it has no main(before=…, after=…).")


def read(script: Path) -> Technique:
    """Reads the script's docstring. Raises BadTechniqueError."""
    name = script.stem
    tree = ast.parse(script.read_text(), str(script))
    title, fields = _fields(name, ast.get_docstring(tree) or "")
    missing = {"Group", "Claim", "Do"} - fields.keys()
    if missing:
        raise BadTechniqueError(f"{name}.py: its docstring lacks {', '.join(sorted(missing))}.")
    if fields["Group"] not in GROUPS:
        raise BadTechniqueError(f"{name}.py: there is no group '{fields['Group']}'.")
    return Technique(
        name=name,
        title=title.rstrip("."),
        group=fields["Group"],
        claim=fields["Claim"],
        do=fields["Do"],
        note=fields.get("Note", ""),
        card=fields.get("Card", ""),
        ranks=int(fields.get("Ranks", "1")),
        dies=tuple(fields.get("Dies", "").split()),
        flags={key[4:]: text.split() for key, text in fields.items() if key.startswith("Run ")},
        variants=_variants(name, tree),
    )


def every() -> list[Technique]:
    """Returns all techniques, sorted by group and then by name. Raises BadTechniqueError."""
    scripts = (path for path in SCRIPTS.glob("*.py") if path.stem not in SHARED)
    return sorted(map(read, scripts), key=lambda found: (GROUPS.index(found.group), found.name))
