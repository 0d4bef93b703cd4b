"""Checks how tests/releases.py selects releases, reads reports, and updates its page."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tree

SCRIPT = tree.ROOT / "tests/releases.py"
LIST = "# comment\n2.2.2 3.11 numpy==1.26.4  # old\n2.11.0 3.11\n2.11.0 3.13\n2.1.9 3.9\n"
REPORT = """<testsuites><testsuite>
<testcase name="test_a"/>
<testcase name="test_b"><failure message="assert 1 == 2&#10;more"/></testcase>
<testcase name="test_c"><error message="broken"/></testcase>
<testcase name="test_d"><skipped message="no card"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("releases", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "releases", module)
    spec.loader.exec_module(module)
    return module


def test_a_release_is_named_with_and_without_its_python(script: ModuleType) -> None:
    known = script.read_list(LIST)
    assert [one.version for one in known] == ["2.2.2", "2.11.0", "2.11.0", "2.1.9"]
    assert known[0].pins == ("numpy==1.26.4",)
    assert script.choose(known, "all") == known
    assert script.choose(known, "2.11") == known[1:3]
    assert script.choose(known, "2.11.0@3.13,2.2") == [known[2], known[0]]
    assert script.choose(known, "2.1") == [known[3]]
    for wrong in ("2.3", "2.11@3.9", "", "2.2,", "@3.11"):
        with pytest.raises(SystemExit, match="there is no PyTorch"):
            script.choose(known, wrong)


def test_the_list_has_each_row_once_and_its_pins_are_exact(script: ModuleType) -> None:
    known = script.read_list(script.LIST.read_text())
    assert len({one.name for one in known}) == len(known) > 10
    assert all("==" in pin for one in known for pin in one.pins)


def test_each_python_of_the_list_gets_a_kernel_for_notebooks(script: ModuleType) -> None:
    for python in {one.python for one in script.read_list(script.LIST.read_text())}:
        pins = [
            line.partition(";")[0].partition("==")[0]
            for line in script.kernel_of(python).read_text().splitlines()
            if "python_version" not in line or line.endswith(f'"{python}"')
        ]
        assert {"ipython", "ipykernel", "pyzmq"} <= set(pins), python
        assert len(set(pins)) == len(pins), python


def test_what_failed_and_what_was_skipped_is_told(script: ModuleType, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    outcome = script.outcome_of(report)
    assert outcome.cell == "1 of 3"
    assert outcome.failures == [
        "test_b failed: assert 1 == 2",
        "test_c failed: broken",
        "test_d skipped: no card",
    ]


def test_a_page_names_no_folder_of_the_machine_that_made_it(
    script: ModuleType, tmp_path: Path
) -> None:
    said = f"{tree.ROOT}/tests/a.py:3: Command '/x/y/pytest-of-me/pytest-7/test_a0/trace' failed"
    report = tmp_path / "report.xml"
    report.write_text(
        f'<testsuite><testcase name="test_a"><failure message="{said}"/></testcase></testsuite>'
    )
    [failure] = script.outcome_of(report).failures
    assert failure == "test_a failed: tests/a.py:3: Command 'test_a0/trace' failed"


def test_what_passes_alone_has_passed_and_says_so(script: ModuleType) -> None:
    first = script.Outcome("1 of 4", ["a failed: slow", "b failed: x", "c skipped: no card"])
    again = {
        "a": script.Outcome("1 of 1", []),
        "b": script.Outcome("0 of 1", ["b failed: y"]),
    }
    outcome = script.with_second_tries(first, again)
    assert outcome.cell == "2 of 4"
    assert outcome.failures == [
        "a passed when it ran again, alone",
        "b failed: y",
        "c skipped: no card",
    ]
    # A test that did not run the second time has not passed.
    again["a"] = script.Outcome("0 of 0", [])
    outcome = script.with_second_tries(first, again)
    assert outcome.cell == "1 of 4" and outcome.failures[0] == "a failed: slow"


def test_a_row_is_replaced_and_the_others_stay(script: ModuleType) -> None:
    first, second = script.read_list("2.11.0 3.11\n2.2.2 3.11\n")
    page = script.Page(f"before\n{script.BEGIN}\n<!-- end -->\nafter\n")
    page.put_release(
        first, {"observed": script.Outcome("1 of 2", ["test_x failed: why"])}, "2026-01-01"
    )
    page.put_release(first, {"values": script.Outcome("5 of 5", [])}, "2026-01-02")
    again = script.Page(page.text())
    again.put_release(second, {"observed": script.Outcome("2 of 2", [])}, "2026-01-03")
    text = again.text()
    assert text.startswith("before\n") and text.endswith("after\n")
    rows = [line for line in text.splitlines() if line.startswith("| 2.")]
    assert rows == [
        "| 2.2.2 | 3.11 | 2 of 2 |  |  |  |  |  |  |  |  | 2026-01-03 |",
        "| 2.11.0 | 3.11 | 1 of 2 |  |  | 5 of 5 |  |  |  |  |  | 2026-01-02 |",
    ]
    assert "- 2.11.0 on Python 3.11, observed: test_x failed: why" in text
    again.put_release(first, {"observed": script.Outcome("2 of 2", [])}, "2026-01-04")
    assert "test_x" not in again.text() and "All that ran passed." in again.text()


def test_a_name_with_a_hyphen_is_read_as_it_was_written(script: ModuleType) -> None:
    (release,) = script.read_list("2.11.0 3.11\n")
    for length in range(20, 70):
        failure = (
            f"test_{'x' * length}_of_many_things_that_are_looked_at[observed-exit] failed: why"
        )
        page = script.Page(f"{script.BEGIN}\n<!-- end -->\n")
        page.put_release(release, {"census": script.Outcome("0 of 1", [failure])}, "now")
        again = script.Page(page.text())
        assert again.text() == page.text()
        assert failure in " ".join(again.text().split())


def test_a_page_without_a_new_column_keeps_its_rows(script: ModuleType) -> None:
    (release,) = script.read_list("2.11.0 3.11\n")
    row = "| 2.2.2 | 3.11 | 7 of 7 | then |"
    old = f"| PyTorch | Python | values | date |\n|---|---|---|---|\n{row}\n"
    page = script.Page(f"{script.BEGIN}\n{old}<!-- end -->\n")
    page.put_release(release, {"attach": script.Outcome("3 of 3", [])}, "now")
    rows = [line for line in page.text().splitlines() if line.startswith("| 2.")]
    assert rows[0] == "| 2.2.2 | 3.11 |  |  |  | 7 of 7 |  |  |  |  |  | then |"
    assert rows[1] == "| 2.11.0 | 3.11 |  |  |  |  |  |  |  | 3 of 3 |  | now |"


def test_a_python_that_is_not_there_is_told(script: ModuleType, tmp_path: Path) -> None:
    (release,) = script.read_list("2.11.0 3.99\n")
    environment = script.Environment(release, tmp_path, keep=False)
    with pytest.raises(OSError, match=r"there is no python3\.99 here"):
        environment.make()


@pytest.mark.parametrize("wrong", ["--torch=2.99", "--torch", "--torch="])
def test_a_wrong_list_is_refused_before_anything_is_installed(wrong: str) -> None:
    command = [tree.ROOT / "tests/run", wrong]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1 and "2.11" in ran.stderr
