"""The names and JSON keys that docs/stability.md promises, as they are now and as they are kept.

python tests/tools/stability/stable.py adds new ones to stable_names.json and stable_keys.json. It
removes nothing: a name that goes is removed by hand, with the version that allows it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1]))

from built import ROOT, run_vramstow  # noqa: E402

SCHEMAS = ROOT / "docs/schemas"
KEYS = FOLDER / "stable_keys.json"
NAMES = FOLDER / "stable_names.json"
# Only some of the keys of this schema are fixed: those that docs/analyze.md lists.
PARTLY = "vramstow.analysis"
Schema = dict[str, Any]


def kept_keys() -> dict[str, dict[str, str]]:
    return json.loads(KEYS.read_text())


def kept_names() -> dict[str, list[str]]:
    return json.loads(NAMES.read_text())


# --- Keys ---


def schema_of(name: str) -> Schema:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def resolved(schema: Schema, top: Schema) -> Schema:
    """Returns the schema together with the one to which it refers."""
    if "$ref" not in schema:
        return schema
    other = top["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema | {
        "type": other["type"],
        "properties": other["properties"] | schema.get("properties", {}),
        "required": other["required"] + schema.get("required", []),
    }


def types_of(schema: Schema) -> str:
    if "const" in schema:
        return "integer" if isinstance(schema["const"], int) else "string"
    kind = schema["type"]
    return kind if isinstance(kind, str) else "|".join(kind)


def keys_of(schema: Schema, top: Schema, prefix: str = "") -> dict[str, str]:
    """Returns each key of the schema, as docs/metrics.md writes it, with its types.

    "?" stands behind a key that may be left out. What is inside of an object that may be left out
    or null is listed as if the object was there.
    """
    keys: dict[str, str] = {}
    at = resolved(schema, top)
    for name, inner in at.get("properties", {}).items():
        keys[f"{prefix}{name}{'' if name in at['required'] else '?'}"] = types_of(inner)
        keys |= keys_of(inner, top, f"{prefix}{name}.")
        keys |= keys_of(inner.get("items", {}), top, f"{prefix}{name}[].")
    return keys


def current_keys() -> dict[str, dict[str, str]]:
    found = {}
    for file in sorted(SCHEMAS.glob("*.json")):
        schema = schema_of(file.stem)
        found[file.stem] = keys_of(schema, schema)
    return found


# --- Names ---


def help_names() -> list[str]:
    """Returns the commands and their flags."""
    table = (ROOT / "tools/commands/command_table.cc").read_text()
    names = []
    for command in re.findall(r'^    \{"(\w+)",', table, re.MULTILINE):
        if command == "docs":
            continue
        page = run_vramstow(
            command, "--help-all" if command == "run" else "--help", check=True
        ).stdout
        flags = re.findall(r"^  (?:-\w, *)?(--[a-z-]+)", page, re.MULTILINE)
        names += [command, *(f"{command} {flag}" for flag in flags)]
    return names


def variables() -> list[str]:
    page = run_vramstow("docs", "configuration", check=True).stdout
    return re.findall(r"^\| `[^|]*(?:\\\|[^|]*)*\| `(VRAMSTOW_\w+)`", page, re.MULTILINE)


def c_names() -> list[str]:
    """Returns functions with their parameters, constants with their values, and fields."""
    header = (ROOT / "include/vramstow/vramstow.h").read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    header = re.sub(r" *\n +", " ", header)
    functions = re.findall(r"^VRAMSTOW_FUNCTION\((\w+), (\([^()]*\))", header, re.MULTILINE)
    constants = re.findall(r"^#define (VRAMSTOW_[A-Z_]+) +(\S+) *$", header, re.MULTILINE)
    structs = re.findall(r"^struct (\w+) \{(.*?)\};?$", header, re.MULTILINE | re.DOTALL)
    return [
        "vramstow_version(void)",
        *("".join(function) for function in functions),
        *(" = ".join(constant) for constant in constants if "IMPLEMENTATION" not in constant[0]),
        *(
            f"{name}[{place}] {field.strip()}"
            for name, fields in structs
            for place, field in enumerate(fields.split(";"))
            if field.strip()
        ),
    ]


def python_names() -> list[str]:
    tree = ast.parse((ROOT / "python/vramstow/__init__.py").read_text())
    [names] = [
        ast.literal_eval(one.value)
        for one in tree.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__all__"
    ]
    return names


def verbs() -> list[str]:
    source = (ROOT / "interpose/core/service/control_verbs.cc").read_text()
    return re.findall(r'\{"([a-z-]+)", ', source)


def metrics() -> list[str]:
    """Returns the metrics of --metrics and of `vramstow top --serve`, with their types."""
    found = []
    for page, heading, prefix in (
        ("prometheus.md", "## The metrics", ""),
        ("top.md", "## All processes", "top: "),
    ):
        text = (ROOT / "docs" / page).read_text().partition(heading)[2].partition("\n## ")[0]
        for names, kind in re.findall(r"^\| (`vramstow_[^|]*) \| (\w+) \|", text, re.MULTILINE):
            found += [f"{prefix}{name} {kind}" for name in re.findall(r"`(\w+)`", names)]
    return found


def current_names() -> dict[str, list[str]]:
    return {
        "command line": help_names(),
        "environment": variables(),
        "C API": c_names(),
        "Python": python_names(),
        "control socket": verbs(),
        "Prometheus": metrics(),
    }


def main() -> int:
    keys, names = kept_keys(), kept_names()
    for schema, now in current_keys().items():
        if schema != PARTLY:
            keys[schema] = now | keys.get(schema, {})
    for kind, listed in current_names().items():
        names[kind] = [*dict.fromkeys(names.get(kind, []) + listed)]
    for file, value in ((KEYS, keys), (NAMES, names)):
        file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
