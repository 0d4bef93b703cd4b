"""The pytest plug-in of vramstow: limits on the device memory of tests.

    @pytest.mark.gpu_memory(peak="2 GiB", limit_leaks="1 MiB")
    def test_forward(): ...

    pytest --gpu-memory                 # on this machine's GPU, with the pool, under vramstow run
    pytest --gpu-memory=h200            # the same, on a simulated card
    pytest --gpu-memory --gpu-memory-baseline=memory.json [--update-gpu-memory]

The numbers are those of the pool, or under `vramstow run -- pytest` those of PyTorch's own
allocator. `peak` limits the bytes that a test allocates at its peak, in addition to those that were
allocated before it. `limit_leaks` limits the additional bytes that are still allocated after the
test. If there is a trace, the message of a failed limit names the source lines that hold most. A
baseline file contains the peaks of marked tests. A test fails if its peak exceeds the one in the
file by more than the tolerance.
"""

from __future__ import annotations

import copy
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vramstow import library, program, sizes
from vramstow.tracking import track

_MARK = "gpu_memory"
_HERE = "here"  # the value of --gpu-memory without a card
_KEYS = ("peak", "limit_leaks")
_SHOWN = 5
_LINES_SHOWN = 3
_FOLDER = "VRAMSTOW_PYTEST_FOLDER"  # the folder of this run's trace, which is removed afterwards
_PATIENCE_S = 60
_SCHEMA = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpu memory (vramstow)")
    group.addoption(
        "--gpu-memory",
        metavar="CARD",
        nargs="?",
        const=_HERE,
        help="run the tests under vramstow with its pool; with the name of a GPU, as in "
        "--gpu-memory=h200, on a simulated GPU (a file or folder after --gpu-memory is a "
        "path of tests)",
    )
    group.addoption(
        "--gpu-memory-baseline",
        metavar="FILE",
        help="file with the peaks of marked tests, to compare with",
    )
    group.addoption(
        "--update-gpu-memory", action="store_true", help="write the baseline file again"
    )
    group.addoption(
        "--gpu-memory-tolerance",
        metavar="PERCENT",
        type=float,
        default=2.0,
        help="how much more memory than in the baseline file is accepted (%(default)s)",
    )


def _names_tests(word: str) -> bool:
    """True if a word after --gpu-memory is a path of tests, and not a GPU ("a100,memory=24GiB")."""
    if "::" in word or Path(word).exists():
        return True
    card = word.partition(",")[0]
    return card.endswith(".py") or ("/" in card and "=" not in card)


def _keep_tests_from_flag(arguments: list[str]) -> bool:
    """Prevents argparse from taking a path of tests as the flag's value; True if it had to."""
    kept = False
    for place, word in enumerate(arguments[:-1]):
        if word == "--":
            break
        if word == "--gpu-memory" and _names_tests(arguments[place + 1]):
            arguments[place] = f"--gpu-memory={_HERE}"
            kept = True
    return kept


def _refuse_what_cannot_run(flags: list[str]) -> None:
    """Raises pytest.UsageError with the words of `vramstow run` if it refuses these flags."""
    command = [program.path(), "run", *flags, "--no-trace", "--", "true"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise pytest.UsageError(f"--gpu-memory: {ran.stderr.strip()}")


def _run_under_vramstow(config: pytest.Config, card: str, arguments: list[str]) -> None:
    flags = ["--quiet", "--pool=on"] + ([] if card == _HERE else [f"--simulate={card}"])
    _refuse_what_cannot_run(flags)
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    folder = tempfile.mkdtemp(prefix="vramstow-pytest-")
    os.environ[_FOLDER] = folder
    os.environ["VRAMSTOW_PYTEST"] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    command = [program.path(), "run", *flags, f"--trace-dir={folder}"]
    try:
        os.execv(command[0], [*command, "--", sys.executable, "-m", "pytest", *arguments])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    if _keep_tests_from_flag(args):
        early_config.known_args_namespace = parser.parse_known_args(
            args, namespace=copy.copy(early_config.option)
        )
    card = early_config.known_args_namespace.gpu_memory
    if card is None or os.environ.get("VRAMSTOW_PYTEST") == "1":
        return
    if library.version() is not None and os.environ.get("VRAMSTOW_POOL") == "on":
        return  # it runs under vramstow run already
    # Not `args`, which also has the options of the configuration file: the next pytest adds them.
    given = [str(word) for word in early_config.invocation_params.args]
    _keep_tests_from_flag(given)
    try:
        _run_under_vramstow(early_config, card, given)
    except OSError as error:
        raise pytest.UsageError(f"--gpu-memory: {error}") from None


@dataclass
class _Limits:
    peak: int | None = None
    leaks: int | None = None


@dataclass
class _Session:
    """The state of one run of pytest."""

    baseline_file: Path | None = None
    update: bool = False
    tolerance: float = 0.0
    baseline: dict[str, int] = field(default_factory=dict)
    measured: dict[str, int] = field(default_factory=dict)
    unmeasured: list[str] = field(default_factory=list)
    why: str = ""


_KEY = pytest.StashKey[_Session]()


def _read_baseline(path: Path) -> dict[str, int]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {said['schema']}, not {_SCHEMA}")
        return {str(name): int(peak) for name, peak in said["peak_bytes"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise pytest.UsageError(
            f"--gpu-memory-baseline: cannot read {path} ({error}); --update-gpu-memory writes one"
        ) from None


def _uses_workers(config: pytest.Config) -> bool:
    """True if pytest-xdist runs the tests in other processes, or this is one of them."""
    return (
        hasattr(config, "workerinput")
        or bool(config.getoption("numprocesses", None))
        or config.getoption("dist", "no") != "no"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARK}(peak=None, limit_leaks=None): the most device memory that the test may need, and "
        'leave behind; sizes as in "2 GiB"; with neither, its peak is only compared with the '
        "baseline file",
    )
    session = _Session(
        update=config.getoption("--update-gpu-memory"),
        tolerance=config.getoption("--gpu-memory-tolerance"),
    )
    chosen = config.getoption("--gpu-memory-baseline")
    if session.update and not chosen:
        raise pytest.UsageError("--update-gpu-memory needs --gpu-memory-baseline=FILE")
    if session.update and _uses_workers(config):
        raise pytest.UsageError(
            "--update-gpu-memory needs all tests in one process: leave the workers of pytest-xdist "
            "out (-n 0)"
        )
    if chosen:
        session.baseline_file = Path(chosen)
        if not session.update or session.baseline_file.exists():
            session.baseline = _read_baseline(session.baseline_file)
    config.stash[_KEY] = session


def _limits_of(item: pytest.Item) -> _Limits | None:
    """Returns the limits of a test; None if it has none. Raises ValueError for an invalid mark."""
    marker = item.get_closest_marker(_MARK)
    if marker is None:
        return None
    unknown = [name for name in marker.kwargs if name not in _KEYS]
    if marker.args or unknown:
        raise ValueError(f"{_MARK} takes {' and '.join(_KEYS)}, as keyword arguments")
    peak, leaks = (marker.kwargs.get(name) for name in _KEYS)
    return _Limits(
        None if peak is None else sizes.parse(peak), None if leaks is None else sizes.parse(leaks)
    )


def _lines(name: str, seen: track, figure: str) -> str:
    """Returns a text about the source lines that hold most within the test; empty if unknown."""
    copy = library.dump()
    if copy is None:
        return ""
    try:
        # Without a range the test was the first to use CUDA, and the trace began in it.
        within = ["--within", name] if seen.is_in_trace else []
        command = [program.path(), "analyze", "--json", *within, copy]
        told = subprocess.run(command, capture_output=True, check=True, timeout=_PATIENCE_S).stdout
        sites = json.loads(told)["by_site"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return ""
    finally:
        Path(copy).unlink(missing_ok=True)
    most = sorted((site for site in sites if site[figure]), key=lambda site: -site[figure])
    shown = ", ".join(f"{sizes.text(s[figure])} {s['site']}" for s in most[:_LINES_SHOWN])
    return f"; held most by {shown}" if shown else ""


def _complaints(name: str, limits: _Limits, seen: track, session: _Session) -> list[str]:
    found = []
    peak = seen.added_peak_bytes
    if limits.peak is not None and peak > limits.peak:
        found.append(
            f"needs {sizes.text(peak)} of device memory at its peak; the limit is "
            f"{sizes.text(limits.peak)}{_lines(name, seen, 'bytes_at_peak')}"
        )
    known = session.baseline.get(name)
    if known is not None and not session.update and peak > known * (1 + session.tolerance / 100):
        found.append(
            f"needs {sizes.text(peak)} of device memory at its peak, and needed "
            f"{sizes.text(known)} when {session.baseline_file} was written"
            f"{_lines(name, seen, 'bytes_at_peak')}"
        )
    left = seen.allocated_bytes
    if limits.leaks is not None and left > limits.leaks:
        listed = ", ".join(
            f"{sizes.text(block.size_bytes)} at 0x{block.address:x}"
            for block in seen.new_blocks[:_SHOWN]
        )
        found.append(
            f"leaves {sizes.text(left)} of device memory behind, and may leave "
            f"{sizes.text(limits.leaks)}; the largest new blocks: {listed}"
            f"{_lines(name, seen, 'bytes_at_end')}"
        )
    return found


def _let_go_of_last_failure() -> None:
    """Removes what pytest keeps of the last test that failed, for a debugger.

    It removes this itself when it begins the next test, but would do so within the measurement: the
    tensors in the frames of the failed test would be subtracted from what the next test leaves.
    """
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    try:
        limits = _limits_of(item)
    except ValueError as error:
        pytest.fail(str(error), pytrace=False)
    if limits is None:
        return (yield)
    session = item.config.stash[_KEY]
    _let_go_of_last_failure()
    gc.collect()
    with track(item.nodeid) as seen:
        result = yield
        gc.collect()
    if seen.after is None:
        # A test that never used the device needs no figures, and without vramstow there are none.
        why = library.why_not() or ""
        if library.version() is None or "in this process" in why:
            session.unmeasured.append(item.nodeid)
            session.why = why
            return result
    session.measured[item.nodeid] = seen.added_peak_bytes
    item.user_properties.append(("gpu_memory_peak_bytes", seen.added_peak_bytes))
    item.user_properties.append(("gpu_memory_left_bytes", seen.allocated_bytes))
    complaints = _complaints(item.nodeid, limits, seen, session)
    if complaints:
        pytest.fail("; ".join(complaints), pytrace=False)
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    known = session.config.stash.get(_KEY, None)
    if known is None or not known.update or known.baseline_file is None:
        return
    if not known.measured:
        return  # a file without peaks would let every later run pass
    # Tests that did not run this time retain their earlier peaks.
    peaks = dict(sorted((known.baseline | known.measured).items()))
    text = json.dumps({"schema": _SCHEMA, "peak_bytes": peaks}, indent=1)
    known.baseline_file.write_text(text + "\n", encoding="utf-8")


def pytest_unconfigure() -> None:
    folder = os.environ.pop(_FOLDER, "")
    # Only the process that vramstow runs removes the folder, because workers of pytest-xdist may
    # end earlier.
    if folder and "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    session = config.stash.get(_KEY, None)
    if session is None:
        return
    if session.unmeasured:
        terminalreporter.write_line(
            f"gpu memory: {len(session.unmeasured)} marked tests ran without being measured: "
            f"{session.why}, or pytest with --gpu-memory.",
            yellow=True,
        )
    if not session.measured:
        if session.update:
            terminalreporter.write_line(
                f"gpu memory: no test was measured, so {session.baseline_file} is not written",
                yellow=True,
            )
        return
    most = max(session.measured, key=lambda name: session.measured[name])
    terminalreporter.write_line(
        f"gpu memory: {len(session.measured)} tests measured, the most "
        f"{sizes.text(session.measured[most])} in {most}"
    )
    if session.update:
        terminalreporter.write_line(f"gpu memory: {session.baseline_file} written")
