"""Classes and functions are small enough to understand, however they are divided into files."""

from __future__ import annotations

from pathlib import Path

import pytest
import sizes
import tree

# The limit of a class's lines: its body and all functions that are defined outside of it.
MOST_CLASS_LINES = 600
MOST_SOURCES = 3
MOST_PRIVATE_FUNCTIONS = 25
MOST_FUNCTION_LINES = 70
LONG_FUNCTIONS = tree.ROOT / "tests/structure/long_functions.txt"
# Classes that are still too large, as "FOLDER CLASS". This list only shrinks.
LARGE: frozenset[str] = frozenset()


def too_large(one: sizes.Class) -> list[str]:
    found = []
    if one.lines > MOST_CLASS_LINES:
        found.append(f"{one.lines} lines, not {MOST_CLASS_LINES}")
    if len(one.sources) > MOST_SOURCES:
        found.append(f"{len(one.sources)} .cc files, not {MOST_SOURCES}")
    if one.private_functions > MOST_PRIVATE_FUNCTIONS:
        found.append(f"{one.private_functions} private functions, not {MOST_PRIVATE_FUNCTIONS}")
    return found


def long_functions() -> set[str]:
    lines = [line for line in LONG_FUNCTIONS.read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        _, colon, reason = line.partition(": ")
        assert colon and reason, f"{LONG_FUNCTIONS.name}: no reason: {line}"
    return {line.partition(": ")[0] for line in lines}


def test_no_class_is_too_large() -> None:
    classes, _ = sizes.product()
    assert len(classes) > 300, "the parser saw too little"
    found = {
        f"{one.room} {one.name}": f"{one.path}: {', '.join(reasons)}"
        for one in classes
        if (reasons := too_large(one))
    }
    new = {name: text for name, text in found.items() if name not in LARGE}
    assert not new, f"cut these into classes of one noun each: {new}"
    mended = LARGE - found.keys()
    assert not mended, f"no longer too large, take them off the list in {__file__}: {mended}"


def test_a_long_function_is_listed_with_its_reason() -> None:
    _, functions = sizes.product()
    assert len(functions) > 3000, "the parser saw too little"
    found = {
        f"{one.room} {one.name}": f"{one.path}:{one.line}, {one.lines} lines"
        for one in functions
        if one.lines > MOST_FUNCTION_LINES
    }
    listed = long_functions()
    new = {name: text for name, text in found.items() if name not in listed}
    assert not new, f"cut these, or say in {LONG_FUNCTIONS.name} why not: {new}"
    assert not listed - found.keys(), f"no longer long: {listed - found.keys()}"


HEADER = """
namespace vramstow {
class VRAMSTOW_CAPABILITY("mutex") Large {
 public:
  void Public();
  int Inline() const { return 1; }

 private:
  void First() VRAMSTOW_REQUIRES(lock_);
  int Second() const { return value_; }
  struct Inner {
    void Deep();
  };
  int value_ VRAMSTOW_GUARDED_BY(lock_) = 0;
};
}  // namespace vramstow
"""
SOURCE = """
namespace vramstow {
namespace {
struct Local {
  void Do() {}
};
}  // namespace
void Large::Public() {
  First();
}
void Large::Inner::Deep() {
}
void Large::First() {
  if (value_ > 0) {
    value_ = 0;
  }
}
}  // namespace vramstow
"""


@pytest.fixture
def measured(tmp_path: Path) -> dict[str, sizes.Class]:
    (tmp_path / "room").mkdir()
    (tmp_path / "room/large.h").write_text(HEADER)
    (tmp_path / "room/large.cc").write_text(SOURCE)
    (tmp_path / "room/more.cc").write_text(SOURCE.replace("First() {", "Public(int) {"))
    classes, _ = sizes.measure(tmp_path, ["room/large.h", "room/large.cc", "room/more.cc"])
    return {one.name: one for one in classes}


def test_a_class_is_measured_with_all_that_is_defined_elsewhere(
    measured: dict[str, sizes.Class],
) -> None:
    large = measured["Large"]
    assert large.body_lines == 13
    assert [member.lines for member in large.members] == [3, 5, 3, 5]
    assert large.lines == 29
    assert large.sources == {"room/large.cc", "room/more.cc"}
    assert large.private_functions == 2
    assert measured["Large::Inner"].lines == 3 + 2 + 2
    assert measured["Local"].lines == 3


def test_each_limit_is_noticed(
    measured: dict[str, sizes.Class], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = measured["Large"]
    assert too_large(large) == []
    for name, limit in (
        ("MOST_CLASS_LINES", 28),
        ("MOST_SOURCES", 1),
        ("MOST_PRIVATE_FUNCTIONS", 1),
    ):
        with monkeypatch.context() as context:
            context.setattr(f"{__name__}.{name}", limit)
            assert len(too_large(large)) == 1, name
