"""The outputs of today are as the schemas of docs/schemas say, and keep the stable keys.

stable_keys.json is what a program for version 0.1 reads: the stable keys of each output, with their
types. A key is removed from it, or its types widened, only with the next version of the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import outputs
import pytest
import stable
from built import ROOT, facts_of, run_vramstow
from installation import write
from stable import SCHEMAS, Schema, schema_of

STABLE = stable.kept_keys()
NAMES = sorted(outputs.OUTPUTS)
# Traces of all versions, and snapshots.
RECORDINGS = sorted(
    [*(ROOT / "tests/tracer/golden").glob("*.stow"), *(ROOT / "tests/jobs/h100").glob("*.gz")]
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The outputs that were made so far, by the name of their schema."""
    return {"folder": tmp_path_factory.mktemp("outputs")}


def made(make: Callable[[Path], dict[str, Any]], folder: Path) -> dict[str, Any]:
    if make in outputs.NEED_PYTORCH:
        pytest.importorskip("torch", reason="needs the PyTorch wheel: tests/run without --quick")
    return make(folder)


def output(name: str, told: dict[str, Any]) -> dict[str, Any]:
    if name not in told:
        folder = told["folder"] / name
        folder.mkdir(exist_ok=True)
        told[name] = made(outputs.OUTPUTS[name], folder)
    return told[name]


def closed(schema: Schema, is_definition: bool = False) -> Schema:
    """Returns the schema without permission for keys that it does not name."""
    result: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            result[key] = {name: closed(inner, key == "$defs") for name, inner in value.items()}
        else:
            result[key] = closed(value) if isinstance(value, dict) else value
    if not is_definition and ("properties" in schema or "$ref" in schema):
        result["unevaluatedProperties"] = False
    return result


def assert_valid(value: dict[str, Any], schema: Schema) -> None:
    jsonschema = pytest.importorskip(
        "jsonschema", reason="pip install -r setup/requirements-formats.txt"
    )
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schema)
    errors = [f"{error.json_path}: {error.message}" for error in kind(schema).iter_errors(value)]
    assert not errors, errors[:10]


def test_the_schema_of_the_analysis_is_up_to_date() -> None:
    schema = run_vramstow("docs", "analysis-schema", check=True).stdout
    assert (SCHEMAS / "vramstow.analysis.json").read_text() == schema, (
        "build the target analysis-schema"
    )


def test_every_output_with_a_name_has_a_schema_and_an_example() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tools").rglob("*.cc"))
    sources += (ROOT / "tools/report/json.h").read_text()
    named = set(re.findall(r'"(vramstow\.[a-z]+)"', sources)) - {
        "vramstow.version",
        "vramstow.save",
    }
    published = {path.stem for path in SCHEMAS.glob("*.json")}
    assert named | {"vramstow.stats"} == published == set(NAMES) == set(STABLE)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_links_the_schema(name: str) -> None:
    assert f"(schemas/{name}.json)" in (ROOT / "docs/stability.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_an_output_is_as_its_schema_says(name: str, told: dict[str, Any]) -> None:
    assert_valid(output(name, told), schema_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_an_output_has_no_key_that_its_schema_lacks(name: str, told: dict[str, Any]) -> None:
    assert_valid(output(name, told), closed(schema_of(name)))


@pytest.mark.parametrize(("name", "make"), outputs.OTHERS)
def test_another_output_is_as_its_schema_says(
    name: str, make: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    assert_valid(made(make, tmp_path), closed(schema_of(name)))


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.name)
def test_the_analysis_of_a_recording_is_as_the_schema_says(file: Path) -> None:
    assert_valid(facts_of(file), closed(schema_of("vramstow.analysis")))


@pytest.mark.parametrize("scenario", ["many", "refused", "turns", "killed"])
def test_other_analyses_are_as_the_schema_says(tmp_path: Path, scenario: str) -> None:
    facts = facts_of(write(tmp_path, scenario))
    assert_valid(facts, closed(schema_of("vramstow.analysis")))


def test_the_analysis_of_several_traces_is_as_the_schema_says(tmp_path: Path) -> None:
    traces = [write(tmp_path, RANK=str(rank)) for rank in range(2)]
    assert_valid(facts_of(*traces), closed(schema_of("vramstow.analysis")))


def test_a_key_more_is_allowed(told: dict[str, Any]) -> None:
    more = output("vramstow.doctor", told) | {"new": 1}
    assert_valid(more, schema_of("vramstow.doctor"))
    with pytest.raises(AssertionError, match="new"):
        assert_valid(more, closed(schema_of("vramstow.doctor")))


def test_the_statistics_of_the_schema_are_those_of_the_table() -> None:
    table = (ROOT / "interpose/core/pools/statistics.def").read_text()
    statistics = re.findall(r"^STATISTIC\((\w+)", table, re.MULTILINE)
    device = schema_of("vramstow.stats")["properties"]["devices"]["items"]
    assert [*device["properties"]] == [*device["required"], *statistics]


# --- A program for version 0.1 ---


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_keeps_the_stable_keys_and_their_types(name: str) -> None:
    now = {key.removesuffix("?"): types for key, types in stable.current_keys()[name].items()}
    left_out = [key.removesuffix("?") for key in stable.current_keys()[name] if key[-1] == "?"]
    for key, types in STABLE[name].items():
        plain = key.removesuffix("?")
        assert plain in now, f"{plain} is gone: docs/stability.md says how it is deprecated first"
        assert set(now[plain].split("|")) <= set(types.split("|")), f"{plain} has other types"
        assert key != plain or plain not in left_out, f"{plain} may be left out now"


@pytest.mark.parametrize("name", [name for name in NAMES if name != stable.PARTLY])
def test_a_new_key_is_stable(name: str) -> None:
    new = stable.current_keys()[name].keys() - STABLE[name].keys()
    assert not new, "python tests/tools/stability/stable.py"


PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,), "number": (int, float), "string": (str,), "boolean": (bool,),
    "array": (list,), "object": (dict,), "null": (type(None),),
}  # fmt: skip


def values(value: object, parts: list[str], may_lack: bool) -> Iterator[object]:
    """Yields every value with this key; a part of the output that is null or left out has none."""
    if not parts:
        yield value
        return
    part, *rest = parts
    name = part.removesuffix("[]")
    if value is None:
        return
    assert isinstance(value, dict)
    if name not in value:
        assert rest or may_lack, f"{name} is missing"
        return
    for item in (value[name] or []) if part.endswith("[]") else [value[name]]:
        yield from values(item, rest, may_lack)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_for_this_version_can_read_the_output(name: str, told: dict[str, Any]) -> None:
    read = 0
    for key, text in STABLE[name].items():
        wanted = tuple(kind for one in text.split("|") for kind in PYTHON_TYPES[one])
        for value in values(output(name, told), key.removesuffix("?").split("."), key[-1] == "?"):
            assert type(value) in wanted, (key, value)
            read += 1
    assert read > 3


def test_the_keys_that_the_page_promises_are_stable() -> None:
    page = (ROOT / "docs/analyze.md").read_text()
    promised = page.partition("**These keys will not change**")[2].partition("\n\n")[0]
    kept = " ".join(key.replace("?", " ").replace("[]", "") for key in STABLE["vramstow.analysis"])
    keys = re.findall(r"`([a-z_.]+)`", promised)
    assert len(keys) > 20
    assert not [key for key in keys if not re.search(rf"\b{re.escape(key)}\b", kept)]
