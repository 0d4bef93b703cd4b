"""The pages of docs/ agree with the output of the program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from built import ROOT, run_vramstow
from installation import analyze, write


def test_the_configuration_page_is_up_to_date() -> None:
    page = run_vramstow("docs", "configuration", check=True).stdout
    assert (ROOT / "docs/configuration.md").read_text() == page, (
        "build the target configuration-docs"
    )


def test_the_metrics_page_lists_every_fact() -> None:
    made = run_vramstow("docs", "metrics", check=True).stdout
    assert (ROOT / "docs/metrics.md").read_text().endswith("\n" + made), (
        "build the target metrics-docs"
    )


@pytest.mark.parametrize("name", ["causes", "advice"])
def test_the_analysis_page_lists_every_cause_and_advice(name: str) -> None:
    made = run_vramstow("docs", name, check=True).stdout
    page = (ROOT / "docs/analyze.md").read_text()
    listed = page.partition(f"`vramstow docs {name}`")[2].partition(f"<!-- end of {name} -->")[0]
    assert listed.partition("-->\n\n")[2] == f"{made}\n", "build the target advice-docs"


def ids() -> list[str]:
    table = (ROOT / "tools/analysis/facts/advice.def").read_text()
    return re.findall(r'^VRAMSTOW_\w+\(\w+, "(\w+)"\)$', table, re.MULTILINE)


def test_there_is_help_on_every_cause_and_advice() -> None:
    assert len(ids()) > 30
    for name in ids():
        done = run_vramstow("help", name)
        assert done.returncode == 0, name
        first, _, rest = done.stdout.partition("\n\n")
        assert first.startswith(f"{name}, ")
        assert rest.count(". ") + rest.count(".\n") >= 2, f"{name} has few sentences"
        assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_every_row_of_the_table_has_its_file() -> None:
    table = (ROOT / "tools/analysis/facts/advice.def").read_text()
    rows = re.findall(r"^VRAMSTOW_(CAUSE|ADVICE)(?:_TOO)?\((\w+), ", table, re.MULTILINE)
    folders = {"CAUSE": "causes", "ADVICE": "hints"}
    wanted = {
        f"{folders[kind]}/{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()}.cc"
        for kind, name in rows
    }
    folder = ROOT / "tools/analysis/advice"
    found = {
        path.relative_to(folder).as_posix()
        for name in folders.values()
        for path in (folder / name).glob("*.cc")
    }
    assert found == wanted


def keys(value: object, path: str = "") -> set[str]:
    """Returns every key of the JSON, with lists as []; objects whose keys are data are skipped."""
    if path in ("facts", "counts.events_by_kind"):
        return {path}
    if isinstance(value, dict):
        below = (keys(item, f"{path}.{name}" if path else name) for name, item in value.items())
        return {path, *set().union(*below)} - {""}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {path} | set().union(*(keys(item, path + "[]") for item in value))
    return {path}


def test_every_key_of_the_json_is_described(tmp_path: Path) -> None:
    page = (ROOT / "docs/metrics.md").read_text()
    facts = json.loads(analyze("--json", write(tmp_path)).stdout)
    del facts["ranks"], facts["schema"]
    described = set(re.findall(r"`([a-z_.\[\]]+)`", page))
    leaves = {key.removesuffix("[]") for key in keys(facts)}
    missing = leaves - described
    # The page lists the possible reasons of moves in one sentence, so these keys need no rows of
    # their own.
    assert not {key for key in missing if not key.startswith("offload.by_reason.")}


def test_the_commands_pages_name_every_flag() -> None:
    for command in ("run", "analyze", "report", "check", "diff", "export"):
        text = run_vramstow(command, "--help", check=True).stdout
        pages = "".join(
            (ROOT / "docs" / name).read_text()
            for name in (
                "run.md",
                "analyze.md",
                "report.md",
                "check.md",
                "configuration.md",
                "export.md",
            )
        )
        options = [line for line in text.splitlines() if line.startswith("  -")]
        for flag in re.findall(r"(?<![\w-])--[a-z-]+", " ".join(line[:28] for line in options)):
            assert flag in pages or flag == "--help", f"{command} {flag}"
