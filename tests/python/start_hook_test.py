"""The start-up hook of `vramstow run` hides and replaces nothing of the program's own."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from built import BUILD, run_program, run_vramstow

FOLDER = BUILD / "lib/vramstow/python"
OLD = ("python2", "python3.5", "python3.6", "python3.7", "python3.8")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Returns a folder of the user, with modules that have names of vramstow's files."""
    for file in (FOLDER / "vramstow_start").glob("*.py"):
        (tmp_path / file.name).write_text(f"print('my {file.stem}')\n")
    (tmp_path / "sitecustomize.py").write_text("print('my sitecustomize')\n")
    return tmp_path


def run(python: str, own: Path, *flags: str) -> str:
    """Returns what a program prints that imports all of the user's modules."""
    program = f"import {', '.join(names(own))}\n"
    command = ["--simulate=h200", "--no-trace", "--quiet", "--", python, *flags, "-c", program]
    ran = run_vramstow("run", *command, env=os.environ | {"PYTHONPATH": str(own)})
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def names(own: Path) -> list[str]:
    return sorted(file.stem for file in own.glob("*.py") if file.stem != "sitecustomize")


def printed(own: Path) -> str:
    return "".join(f"my {name}\n" for name in names(own))


def test_the_folder_on_pythonpath_hides_no_module_of_the_program(own: Path) -> None:
    assert [file.name for file in FOLDER.glob("*.py")] == ["sitecustomize.py"]
    assert len(names(own)) > 10
    assert run(sys.executable, own, "-S") == printed(own)
    assert run(sys.executable, own) == "my sitecustomize\n" + printed(own)


def test_the_start_up_hook_is_valid_in_old_versions_of_python() -> None:
    text = (FOLDER / "sitecustomize.py").read_text()
    tree = ast.parse(text, feature_version=(3, 4))
    kinds = {type(node) for node in ast.walk(tree)}
    assert ast.JoinedStr not in kinds and ast.AnnAssign not in kinds
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert all(node.returns is None for node in functions)
    assert not re.search(r"[^\x00-\x7f]", text)


@pytest.mark.parametrize("name", OLD)
def test_a_program_in_an_old_version_of_python_runs_as_without_vramstow(
    own: Path, name: str
) -> None:
    python = shutil.which(name)
    if python is None or run_program(python, "-V").returncode != 0:
        pytest.skip(f"there is no {name} on this machine")
    assert run(python, own) == "my sitecustomize\n" + printed(own)
