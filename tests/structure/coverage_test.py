"""tests/coverage.py adds the counts of several objects, and reports wrong folders."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tree

SCRIPT = tree.ROOT / "tests/coverage.py"
HEADER = """
inline int Half(int value) {
  if (value % 2 != 0)
    return -1;
  return value / 2;
}
"""
# One of the two sources reaches the first return, the other one the second.
SOURCE = '#include "allocator/half.h"\nint {name}() {{ return Half({value}); }}\n'
MAIN = "int First(); int Second(); int Never();\nint main() { return First() + Second() != 1; }\n"


@pytest.fixture
def coverage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Runs the script on a separate tree with counts."""
    spec = importlib.util.spec_from_file_location("coverage_report", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "coverage_report", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for folder in ("allocator", "tracer", "tools/formats", "build-coverage"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "allocator/half.h").write_text(HEADER)
    (tmp_path / "allocator/first.cc").write_text(SOURCE.format(name="First", value=3))
    (tmp_path / "tracer/second.cc").write_text(SOURCE.format(name="Second", value=4))
    (tmp_path / "tools/formats/never.cc").write_text(SOURCE.format(name="Never", value=0))
    (tmp_path / "main.cc").write_text(MAIN)
    sources = ["allocator/first.cc", "tracer/second.cc", "tools/formats/never.cc", "main.cc"]
    build = tmp_path / "build-coverage"
    for command in (
        ["g++", "--coverage", "-O0", f"-I{tmp_path}", *(tmp_path / name for name in sources)],
        ["./a.out"],
    ):
        subprocess.run(command, cwd=build, check=True, timeout=120)
    return module


def test_a_header_is_reached_where_any_object_reached_it(coverage: ModuleType) -> None:
    build = coverage.ROOT / "build-coverage"
    files = coverage.read(sorted(build.rglob("*.gcda")), build)
    header = files["allocator/half.h"]
    assert len(header.lines) == 4 and all(header.lines.values())
    assert sorted(header.branches.values()) == [1, 1]
    parts = coverage.summary(files)
    assert parts["pool"]["line_share"] == parts["tracer"]["line_share"] == 1
    assert parts["readers"]["line_share"] == 0
    assert parts["readers"]["least"][0][0] == "tools/formats/never.cc"
    text = coverage.table(parts)
    assert "100.0%" in text and "0.0%  tools/formats/never.cc" in text


def test_a_folder_without_counts_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        result = subprocess.run(
            [sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False
        )
        assert result.returncode == 2
        assert "tests/run --coverage" in result.stderr and result.stderr.count("\n") == 1


def test_json_has_the_same_parts(coverage: ModuleType) -> None:
    build = coverage.ROOT / "build-coverage"
    parts = coverage.summary(coverage.read(sorted(build.rglob("*.gcda")), build))
    assert set(json.loads(json.dumps(parts))) == {"pool", "tracer", "readers"}
