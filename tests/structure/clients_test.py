"""Checks how tests/clients.py selects clients, and that each has a job and pinned packages."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tree

SCRIPT = tree.ROOT / "tests/clients.py"
JOBS = tree.ROOT / "tests/frameworks/clients"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("clients", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "clients", module)
    spec.loader.exec_module(module)
    return module


def test_each_client_has_a_job_and_each_job_a_client(script: ModuleType) -> None:
    names = {client.name for client in script.known_clients()}
    assert "vllm" in names
    assert names == {path.name.removesuffix("_job.py") for path in JOBS.glob("*_job.py")}


def test_every_package_of_a_client_is_pinned_once(script: ModuleType) -> None:
    for client in script.known_clients():
        lines = [line.strip() for line in script.lines_of(client.requirements)]
        packages = [line for line in lines if line and not line.startswith("#")]
        assert all(re.fullmatch(r"[\w.-]+==[\w.+!]+", line) for line in packages), client.name
        assert len({line.partition("==")[0].lower() for line in packages}) == len(packages)
        brings = any(line.startswith("torch==") for line in packages)
        assert brings == client.has_own_torch, client.name


def test_a_second_job_of_a_client_has_its_packages(script: ModuleType, tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("# brings its own PyTorch\nclient==1.2\ntorch==3.4\n")
    second.write_text("# The same.\n-r first.txt\n")
    told = script.read_client(second)
    assert (told.name, told.version, told.has_own_torch) == ("second", "1.2", True)
    assert told.packages == script.read_client(first).packages == "first"


def test_jobs_with_one_list_of_packages_share_an_environment(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    monkeypatch.setattr(script.Environment, "make", lambda self: done.append(self.python))
    monkeypatch.setattr(script.Environment, "remove", lambda _: done.append("removed"))
    monkeypatch.setattr(script, "try_client", lambda client, *_: not done.append(client.name))
    wanted = ["clients.py", str(tmp_path), "trl,trl_dpo,peft"]
    monkeypatch.setattr(sys, "argv", wanted)
    monkeypatch.setenv("VRAMSTOW_CLIENTS", str(tmp_path))
    assert script.main() == 0
    trl, peft = (tmp_path / name / "bin/python" for name in ("trl", "peft"))
    assert done == [trl, "trl", "trl_dpo", "removed", peft, "peft", "removed"]


def test_clients_are_chosen_by_name(script: ModuleType) -> None:
    known = script.known_clients()
    assert script.choose(known, "all") == known
    assert [one.name for one in script.choose(known, "vllm,peft,vllm")] == ["vllm", "peft"]
    for wrong in ("vlm", "", "vllm,"):
        with pytest.raises(SystemExit, match="there is no client"):
            script.choose(known, wrong)


def test_the_modes_are_those_of_the_tests(script: ModuleType) -> None:
    text = (tree.ROOT / "tests/frameworks/clients_test.py").read_text()
    table = text[text.index("MODES = {") : text.index("}\n", text.index("MODES = {"))]
    assert tuple(re.findall(r'^    "([\w-]+)":', table, re.MULTILINE)) == script.MODES


def test_a_row_is_kept_where_another_client_runs(script: ModuleType) -> None:
    page = script.Page(f"before\n{script.BEGIN}\n<!-- end -->\nafter\n")
    outcome = sys.modules["made_table"].Outcome("3 of 4", ["test_x[pooled] failed: why, and why"])
    page.put(("vllm",), {"pooled": outcome}, version="1.0", PyTorch="2.14.0", date="2026-01-01")
    again = script.Page(page.text())
    again.put(("peft",), {}, version="0.2", PyTorch="2.15.0", date="2026-01-02")
    rows = [line for line in again.text().splitlines() if line.startswith("| ")][1:]
    assert rows == [
        "| peft | 0.2 | 2.15.0 |  |  |  |  | 2026-01-02 |",
        "| vllm | 1.0 | 2.14.0 |  | 3 of 4 |  |  | 2026-01-01 |",
    ]
    assert "- vllm, pooled: test_x[pooled] failed: why, and why" in again.text()


@pytest.mark.parametrize("wrong", ["--clients=nobody", "--clients="])
def test_a_wrong_list_is_refused_before_anything_is_installed(wrong: str) -> None:
    command = [tree.ROOT / "tests/run", wrong]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1 and "vllm" in ran.stderr
