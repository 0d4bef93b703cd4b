"""Follows docs/extending.md on a new cause to the letter: builds the file, the row and the scenario
on that page into the test of the scenarios.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from built import BUILD, ROOT, run_program

sys.path.insert(0, str(ROOT / "tests/structure"))
import commands

SECTION = "## A cause of an out-of-memory error, or another advice"
TABLE = "tools/analysis/facts/advice.def"
# The files that must be compiled again when a row is added to the table of causes. The new file of
# the cause is compiled in addition.
REBUILT = (
    "tools/analysis/advice/rule_table.cc",
    "tools/analysis/advice/order.cc",
    "tests/analysis/scenario.cc",
    "tests/analysis/scenario_test.cc",
)


def blocks() -> list[str]:
    """Returns the texts in the section: the file, the row and the scenario."""
    page = (ROOT / "docs/extending.md").read_text()
    section = page.partition(SECTION)[2].partition("\n## ")[0]
    found = re.findall(r"^   ```\w+\n(.*?)^   ```$", section, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in found]


def with_row(row: str) -> str:
    """Returns the table with the row after the last cause of its rank, before LargestHolder."""
    causes, line, rest = (ROOT / TABLE).read_text().partition("\nVRAMSTOW_CAUSE(LargestHolder,")
    assert line
    return f"{causes}\n{row.strip()}{line}{rest}"


def compile_command(source: str) -> list[str]:
    """Returns the build's command for a source, without the output and the input."""
    for entry in commands.commands(BUILD):
        if Path(entry["directory"], entry["file"]).resolve() == ROOT / source:
            words = shlex.split(entry["command"])
            return words[: words.index("-o")]
    raise AssertionError(f"the build does not compile {source}")


def build(folder: Path, file: str) -> list[Path]:
    objects = []
    for number, source in enumerate([*REBUILT, file]):
        path = folder / source if source == file else ROOT / source
        command = compile_command(REBUILT[0] if source == file else source)
        objects.append(folder / f"{number}.o")
        scenarios = f'-DVRAMSTOW_ANALYSIS_SCENARIOS="{folder}"'
        words = [word for word in command if not word.startswith("-DVRAMSTOW_ANALYSIS_SCENARIOS")]
        # The first words may be a launcher of the compiler. The folder with the changed table must
        # precede the folder of the tree.
        place = next(i for i, word in enumerate(words) if word.startswith("-"))
        words[place:place] = [f"-I{folder}", scenarios]
        subprocess.run(
            [*words, "-O0", "-c", path, "-o", objects[-1]], cwd=BUILD, check=True, timeout=600
        )
    return objects


def link(objects: list[Path], program: Path) -> None:
    """Links like the test of the scenarios, with these objects before those of the libraries."""
    listing = run_program(
        "ninja", "-C", BUILD, "-t", "commands", "analysis_scenario_test", check=True
    ).stdout
    line = listing.strip().splitlines()[-1].removeprefix(": && ").removesuffix(" && :")
    words = [word for word in shlex.split(line) if not word.endswith(".cc.o")]
    words[words.index("-o") + 1] = str(program)
    place = words.index("-o")
    # The libraries already contain the code of these files, compiled into one object together with
    # other files. So the linker must accept two definitions of a function.
    ours = ["-Wl,--allow-multiple-definition", *map(str, objects)]
    subprocess.run([*words[:place], *ours, *words[place:]], cwd=BUILD, check=True)


@pytest.mark.skipif(not (BUILD / "build.ninja").exists(), reason="no build of ninja's")
def test_a_new_cause_is_a_file_and_a_row(tmp_path: Path) -> None:
    code, row, scenario = blocks()
    page = (ROOT / "docs/extending.md").read_text()
    named = re.search(r"Write `(tools/analysis/advice/causes/\w+\.cc)`", page)
    assert named is not None
    file = tmp_path / named[1]
    for path, text in ((file, code), (tmp_path / TABLE, with_row(row))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "workspaces.scenario").write_text(scenario)
    program = tmp_path / "scenarios"
    link(build(tmp_path, named[1]), program)
    done = run_program(program, "--gtest_filter=Files/*")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "[  PASSED  ] 1 test." in done.stdout
