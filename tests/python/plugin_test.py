"""Tests the pytest plug-in's limits, leaks and baselines, on a simulated GPU, through pytest
itself."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable

import pytest
from conftest import INSTALLED, package_environment

Pytest = Callable[..., pytest.RunResult]

TESTS = """
import pytest
import device
from device import MIB

@pytest.mark.gpu_memory(peak="8 MiB")
def test_fits():
    device.free(device.allocate(4 * MIB))

@pytest.mark.gpu_memory(peak="8 MiB")
def test_needs_too_much():
    device.free(device.allocate(16 * MIB))

@pytest.mark.gpu_memory(limit_leaks=0)
def test_leaks():
    device.allocate(3 * MIB)
    device.free(device.allocate(100 * MIB))

@pytest.mark.gpu_memory(limit_leaks="4 MiB")
def test_leaks_little():
    device.allocate(3 * MIB)

@pytest.mark.gpu_memory(peak=10)
def test_uses_no_device():
    pass

@pytest.mark.gpu_memory(peak="1 MiB")
def test_fails_by_itself():
    device.free(device.allocate(2 * MIB))
    assert 1 == 2
"""


@pytest.fixture
def tests_of(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Pytest:
    """Writes the text as a test file and runs pytest on it, with the plug-in."""
    wanted = package_environment()
    for name in list(os.environ):
        if name not in wanted:
            monkeypatch.delenv(name)
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)

    def run(text: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(text)
        # The plug-in of an installed wheel is loaded automatically.
        plugin = () if INSTALLED is not None else ("-p", "vramstow.pytest_plugin")
        return pytester.runpytest_subprocess(*plugin, "-p", "no:cacheprovider", *arguments)

    return run


def test_a_test_fails_that_needs_or_leaves_more_than_it_may(
    tests_of: Pytest, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = pytester.mkdir("scratch")
    monkeypatch.setenv("TMPDIR", str(scratch))
    result = tests_of(TESTS, "--gpu-memory=h200")
    result.assert_outcomes(passed=3, failed=3)
    assert list(scratch.glob("vramstow-pytest-*")) == []
    text = result.stdout.str()
    assert (
        "test_needs_too_much" in text
        and "needs 16.0 MiB of device memory at its peak; the limit is 8.0 MiB" in text
    )
    found = re.search(
        r"leaves (.*) of device memory behind, and may leave 0 B; the largest new "
        r"blocks: (.*) at 0x",
        text,
    )
    assert found is not None and found.groups() == ("3.0 MiB", "3.0 MiB"), text
    # The message names the source lines that hold the most memory, from the trace of the run, which
    # is not retained.
    assert "the limit is 8.0 MiB; held most by 16.0 MiB device.py:" in text, text
    assert re.search(r" at 0x\w+; held most by 3.0 MiB device.py:\d+ allocate", text), text
    assert "assert 1 == 2" in text, "its own failure comes first"
    assert "gpu memory: 5 tests measured, the most 103.0 MiB in " in text, text


def test_without_vramstow_tests_run_and_it_says_that_nothing_was_measured(
    tests_of: Pytest,
) -> None:
    result = tests_of("import pytest\n@pytest.mark.gpu_memory(peak=1)\ndef test_it(): pass\n")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["gpu memory: 1 marked tests ran without being measured: vramstow*"]
    )


def test_limits_that_make_no_sense_are_failures(tests_of: Pytest) -> None:
    result = tests_of(
        "import pytest\n"
        "@pytest.mark.gpu_memory(peak='2 parsecs')\n"
        "def test_size(): pass\n"
        "@pytest.mark.gpu_memory(most=1)\n"
        "def test_name(): pass\n"
        "@pytest.mark.gpu_memory(1)\n"
        "def test_place(): pass\n"
    )
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["*'2 parsecs' is not a size*", "*gpu_memory takes peak and limit*"]
    )


ONE = """
import pytest
import device
from device import MIB

@pytest.mark.gpu_memory
def test_one():
    device.free(device.allocate({} * MIB))

@pytest.mark.gpu_memory
def test_other():
    device.free(device.allocate(2 * MIB))
"""


def test_a_baseline_is_written_kept_and_held_against(
    tests_of: Pytest, pytester: pytest.Pytester
) -> None:

    file = pytester.path / "memory.json"
    with_file = ("--gpu-memory=h200", f"--gpu-memory-baseline={file}")

    def run(size: int, *arguments: str) -> pytest.RunResult:
        return tests_of(ONE.format(size), *with_file, *arguments)

    missing = run(4)
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines(["*cannot read *memory.json*--update-gpu-memory writes one*"])

    run(4, "--update-gpu-memory").assert_outcomes(passed=2)
    peaks = json.loads(file.read_text())["peak_bytes"]
    assert sorted(peaks.values()) == [2 << 20, 4 << 20] and len(peaks) == 2, peaks
    run(4).assert_outcomes(passed=2)
    run(3).assert_outcomes(passed=2)
    grown = run(5)
    grown.assert_outcomes(passed=1, failed=1)
    grown.stdout.fnmatch_lines(["*needs 5.0 MiB of device memory at its peak, and needed 4.0 MiB*"])
    run(5, "--gpu-memory-tolerance=30").assert_outcomes(passed=2)

    run(5, "--update-gpu-memory", "-k", "one").assert_outcomes(passed=1, deselected=1)
    peaks = json.loads(file.read_text())["peak_bytes"]
    assert sorted(peaks.values()) == [2 << 20, 5 << 20], "what did not run keeps its peak"

    file.write_text('{"schema": 7}')
    run(5).stderr.fnmatch_lines(["*its schema is 7, not 1*"])


LIMITED = """
@pytest.mark.gpu_memory(peak="2 MiB")
def test_limited():
    device.free(device.allocate(4 * MIB))
"""


def test_updating_needs_a_file(tests_of: Pytest) -> None:
    result = tests_of(ONE.format(1), "--update-gpu-memory")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--update-gpu-memory needs --gpu-memory-baseline=FILE*"])


def test_no_baseline_is_written_if_no_test_was_measured(
    tests_of: Pytest, pytester: pytest.Pytester
) -> None:
    file = pytester.path / "memory.json"
    text = "import pytest\n@pytest.mark.gpu_memory\ndef test_it(): pass\n"
    result = tests_of(text, f"--gpu-memory-baseline={file}", "--update-gpu-memory")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"gpu memory: no test was measured, so {file} is not written"])
    assert not file.exists()


def test_several_processes_cannot_update_a_baseline(
    tests_of: Pytest, pytester: pytest.Pytester
) -> None:
    # Only the option of pytest-xdist is needed, which need not be installed.
    pytester.makeconftest(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--workers', dest='numprocesses', type=int)\n"
    )
    flags = (f"--gpu-memory-baseline={pytester.path / 'memory.json'}", "--update-gpu-memory")
    text = "def test_it(): pass\n"
    tests_of(text, "--workers=0", *flags).assert_outcomes(passed=1)
    result = tests_of(text, "--workers=2", *flags)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--update-gpu-memory needs all tests in one process*"])


def test_a_card_that_is_none_is_told_before_any_test(
    tests_of: Pytest, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = pytester.mkdir("scratch")
    monkeypatch.setenv("TMPDIR", str(scratch))
    result = tests_of(ONE.format(1), "--gpu-memory=z9000")
    assert result.ret != 0
    assert "z9000" in result.stderr.str()
    assert "passed" not in result.stdout.str()
    assert list(scratch.glob("vramstow-pytest-*")) == []


def test_options_of_the_configuration_file_are_given_once(
    tests_of: Pytest, pytester: pytest.Pytester
) -> None:
    pytester.makeini("[pytest]\naddopts = --keep-duplicates -q test_it.py\n")
    pytester.path.joinpath("test_it.py").write_text("def test_it():\n    pass\n")
    for flags in ((), ("--gpu-memory=h200",)):
        text = tests_of("", *flags).stdout.str()
        assert re.findall(r"\d+ passed", text) == ["1 passed"], text


def test_the_first_test_that_uses_cuda_has_its_lines_named_too(tests_of: Pytest) -> None:
    result = tests_of(ONE.format(16) + LIMITED, "--gpu-memory=h200", "-k", "test_limited")
    result.assert_outcomes(failed=1, deselected=2)
    assert "the limit is 2.0 MiB; held most by 4.0 MiB device.py:" in result.stdout.str()


@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        (("--gpu-memory", "test_one.py"), ["one"]),
        (("--gpu-memory", "test_two.py::test_it"), ["two"]),
        (("--gpu-memory", "folder", "test_one.py"), ["folder", "one"]),
        (("--gpu-memory", "h200", "test_two.py"), ["two"]),
        (("test_one.py", "--gpu-memory", "h200,memory=1GiB"), ["one"]),
    ],
)
def test_the_flag_takes_no_place_of_tests_for_a_card(
    tests_of: Pytest,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    ran: list[str],
) -> None:
    monkeypatch.setenv("VRAMSTOW_SIMULATE", "h200")
    pytester.mkdir("folder")
    for name in ("folder/test_folder", "test_one", "test_two"):
        word = name.rpartition("_")[2]
        pytester.path.joinpath(f"{name}.py").write_text(
            f"def test_it():\n    print('ran {word}')\n", encoding="utf-8"
        )
    result = tests_of("", "-s", *arguments)
    result.assert_outcomes(passed=len(ran))
    assert re.findall(r"ran (\w+)", result.stdout.str()) == ran


def test_a_missing_file_after_the_flag_is_told_as_one(
    tests_of: Pytest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VRAMSTOW_SIMULATE", "h200")
    result = tests_of("", "--gpu-memory", "test_missing.py")
    assert result.ret != 0
    result.stderr.fnmatch_lines(["*file or directory not found: test_missing.py*"])


AFTER_A_FAILURE = """
import pytest
import device
from device import MIB

class Block:
    def __init__(self, size):
        self.address = device.allocate(size)

    def __del__(self):
        device.free(self.address)

@pytest.mark.gpu_memory
def test_fails_with_memory():
    held = Block(50 * MIB)
    assert held is None

@pytest.mark.gpu_memory(limit_leaks="1 MiB")
def test_leaks():
    device.allocate(40 * MIB)
"""


def test_what_a_failed_test_held_hides_no_leak_of_the_next_one(tests_of: Pytest) -> None:
    result = tests_of(AFTER_A_FAILURE, "--gpu-memory=h200")
    result.assert_outcomes(failed=2)
    assert "leaves 40.0 MiB of device memory behind" in result.stdout.str()
