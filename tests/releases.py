"""Tests releases of PyTorch and writes the results to docs/compatibility.md.

    python tests/releases.py BUILD all|2.6,2.11,…

setup/torch-releases.txt lists the releases, and the Python for each. For one release after another
an environment is made, the suites below run in it, and it is removed. The wheels remain in
$VRAMSTOW_RELEASES (by default vramstow-releases in the user's cache), because releases share
NVIDIA's.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from made_table import MadeTable, Outcome, outcome_of
from own_environment import OwnEnvironment

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/compatibility.md"
LIST = ROOT / "setup/torch-releases.txt"
NOTEBOOK = ROOT / "setup/requirements-notebook.txt"
OLDER_NOTEBOOK = ROOT / "setup/requirements-notebook-older.txt"
CONSTRAINTS = ROOT / "setup/torch-constraints.txt"
NEEDED_GB = 15  # for the wheels and the environment of one release
PATIENCE_S = 7200  # the limit for one suite
MOST_AGAIN = 5  # failed tests; with more, the machine is not the cause
BEGIN = "<!-- made by tests/releases.py -->"


@dataclass(frozen=True)
class Suite:
    column: str
    first_minor: int  # it must pass from PyTorch 2.first_minor on
    file: str
    options: tuple[str, ...]
    short: str  # the argument of pytest -k with --short


SUITES = (
    Suite("observed", 4, "observer_test.py", ("-m", "not long"), "every_step and not expandable"),
    Suite("forwarded", 4, "forwarder_test.py", (), "every_function"),
    Suite("pooled", 4, "tensor_test.py", ("-m", "not long"), "at_every_step"),
    Suite("values", 4, "values_test.py", ("-k", "not allocations_are_those"), "operations"),
    Suite("census", 6, "census_test.py", ("-m", "not long"), "each_way and observed"),
    Suite("jobs observed", 4, "sequences_test.py", ("-k", "observed"), "observed and lstm"),
    Suite("jobs pooled", 4, "sequences_test.py", ("-k", "pooled"), "pooled and lstm"),
    Suite(
        "attach", 6, "../attach/attach_test.py", ("-m", "not long"), "who_holds or growth or ctl"
    ),
    Suite("notebook", 6, "../python/notebook_test.py", (), "jupyter or history_alone"),
)
HEADINGS = ("PyTorch", "Python", *(suite.column for suite in SUITES), "date")


@dataclass(frozen=True)
class Release:
    version: str  # for example "2.6.0"
    python: str  # for example "3.11"
    pins: tuple[str, ...]

    @property
    def minor(self) -> int:
        return int(self.version.split(".")[1])

    @property
    def name(self) -> str:
        return f"{self.version} on Python {self.python}"


def say(text: str) -> None:
    print(f"tests/releases.py: {text}", file=sys.stderr, flush=True)


def read_list(text: str) -> list[Release]:
    found = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            found.append(Release(words[0], words[1], tuple(words[2:])))
    return found


def choose(known: list[Release], wanted: str) -> list[Release]:
    """Returns the releases that the user named: 2.6 on all its Pythons, 2.6@3.11 on one. Raises
    SystemExit if one is unknown."""
    if wanted == "all":
        return known
    chosen = []
    for name in wanted.split(","):
        version, _, python = name.partition("@")
        fitting = [
            one
            for one in known
            if f"{one.version}.".startswith(f"{version}.") and python in ("", one.python)
        ]
        if not fitting or not version:
            releases = ", ".join(f"{one.version}@{one.python}" for one in known)
            raise SystemExit(f"tests/run: there is no PyTorch '{name}' in {LIST.name}: {releases}")
        chosen += fitting
    return chosen


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def kernel_of(python: str) -> Path:
    """Returns the list of packages for a notebook kernel with that release."""
    return NOTEBOOK if numbers(python) >= [3, 11] else OLDER_NOTEBOOK


# --- Environments ---------------------------------------------------------------------------------


class Environment(OwnEnvironment):
    """A folder with one release, made by pip and removed at the end, or retained."""

    def __init__(self, release: Release, cache: Path, *, keep: bool) -> None:
        self._release = release
        super().__init__(cache / f"env-{release.version}-{release.python}", keep=keep)
        self._wheels = cache / "wheels"

    @property
    def adapters(self) -> Path:
        return self._folder / "adapters"

    def make(self) -> None:
        """Makes the environment. Raises OSError if there is no such Python, the disk is full, or
        pip failed."""
        pip = (self.python, "-m", "pip", "--disable-pip-version-check", "-q")
        if not (self._keep and self.adapters.is_dir()):  # an earlier run may have made them
            self._install_torch(pip)
            self.adapters.mkdir()
        # If an environment is left from an earlier run, its packages may be older than those of the
        # list.
        kernel = kernel_of(self._release.python)
        mark = self._folder / "notebook.txt"
        if not mark.is_file() or mark.read_text() != kernel.read_text():
            self._run(*pip, "install", "--no-compile", "-r", kernel)
            mark.write_text(kernel.read_text())

    def _install_torch(self, pip: tuple[str | Path, ...]) -> None:
        interpreter = shutil.which(f"python{self._release.python}")
        if interpreter is None:
            raise OSError(f"there is no python{self._release.python} here")
        self._wheels.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self._wheels).free
        if free < NEEDED_GB << 30:
            raise OSError(f"{self._wheels} has {free >> 30} GiB free, {NEEDED_GB} are needed")
        self._clear()
        self._run(interpreter, "-m", "venv", self._folder)
        wanted = (f"torch=={self._release.version}", *self._release.pins, "-c", CONSTRAINTS)
        self._run(*pip, "download", "-d", self._wheels, "-f", self._wheels, *wanted)
        install = ("install", "--no-compile", "--no-index", "-f", self._wheels)
        self._run(*pip, *install, *wanted)


def cache_folder() -> Path:
    named = os.environ.get("VRAMSTOW_RELEASES")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(cache) / "vramstow-releases"


# --- Suites ---------------------------------------------------------------------------------------


def run_suite(suite: Suite, environment: Environment, build: Path, *, short: bool) -> Outcome:
    options = (*suite.options, "-k", suite.short) if short else suite.options
    outcome = run_pytest(suite.file, options, environment, build)
    failed = [text.partition(" failed: ")[0] for text in outcome.failures if " failed: " in text]
    if not 0 < len(failed) <= MOST_AGAIN:
        return outcome
    # If other processes use the processors, tests exceed their time limits, so each failed test
    # runs again, alone.
    again = [run_pytest(f"{suite.file}::{name}", (), environment, build) for name in failed]
    return with_second_tries(outcome, dict(zip(failed, again, strict=True)))


def with_second_tries(first: Outcome, again: dict[str, Outcome]) -> Outcome:
    """Counts a test that passed when it ran by itself as passed, and notes the two tries."""
    passed, ran = map(int, first.cell.split(" of "))
    failures = []
    for text in first.failures:
        name, _, reason = text.partition(" failed: ")
        if reason and name in again and not again[name].failures and again[name].cell == "1 of 1":
            passed += 1
            failures.append(f"{name} passed when it ran again, alone")
        else:
            failures += (reason and name in again and again[name].failures) or [text]
    return Outcome(f"{passed} of {ran}", failures)


def run_pytest(
    file: str, options: tuple[str, ...], environment: Environment, build: Path
) -> Outcome:
    report = environment.adapters / "report.xml"
    test = ROOT / "tests/adapters" / file
    settings = {
        "VRAMSTOW_BUILD": str(build.resolve()),
        "VRAMSTOW_TEST_PYTHON": str(environment.python),
        "VRAMSTOW_ADAPTER_DIR": str(environment.adapters),
    }
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    try:
        subprocess.run(
            [*command, f"--junitxml={report}", *options, test],
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("not ended", [f"{file} had not ended after {PATIENCE_S} s"])
    if not report.is_file():
        return Outcome("not ended", [f"{file} left no report"])
    return outcome_of(report)


def go_through(
    release: Release, environment: Environment, arguments: argparse.Namespace
) -> dict[str, Outcome]:
    outcomes = {}
    try:
        environment.make()
        for suite in SUITES:
            wanted = arguments.only is None or suite.column in arguments.only
            if wanted and release.minor >= suite.first_minor:
                say(f"PyTorch {release.name}: {suite.column}")
                outcomes[suite.column] = run_suite(
                    suite, environment, arguments.build, short=arguments.short
                )
    finally:
        environment.remove()
    return outcomes


# --- The page -------------------------------------------------------------------------------------


class Page(MadeTable):
    """The table of a page, and the failures below it."""

    def __init__(self, text: str) -> None:
        super().__init__(
            text,
            BEGIN,
            HEADINGS,
            keys=2,
            between=" on Python ",
            order=lambda key: [*map(numbers, key)],
        )

    def put_release(self, release: Release, outcomes: dict[str, Outcome], date: str) -> None:
        self.put((release.version, release.python), outcomes, date=date)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path, help="the folder of the build")
    parser.add_argument("releases", help="all, or a list such as 2.6,2.11")
    columns = [suite.column for suite in SUITES]
    parser.add_argument(
        "--only", action="append", choices=columns, help="only these suites; may be repeated"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the environment, and use one that was left"
    )
    parser.add_argument("--short", action="store_true", help="only a few tests of each suite")
    parser.add_argument("--check", action="store_true", help="only look whether the list is right")
    arguments = parser.parse_args()
    chosen = choose(read_list(LIST.read_text()), arguments.releases)
    if arguments.check:
        return 0
    failed = []
    for release in chosen:
        say(f"PyTorch {release.name}: making its environment")
        try:
            environment = Environment(release, cache_folder(), keep=arguments.keep)
            outcomes = go_through(release, environment, arguments)
        except OSError as error:
            say(f"PyTorch {release.name} was not tried: {error}.")
            failed.append(release.name)
            continue
        page = Page(PAGE.read_text())
        page.put_release(release, outcomes, datetime.date.today().isoformat())
        PAGE.write_text(page.text())
        if any("failed: " in text for one in outcomes.values() for text in one.failures):
            failed.append(release.name)
    if failed:
        say(f"not all passed: {', '.join(failed)}; {PAGE.relative_to(ROOT)} says what.")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("interrupted; what had run before is on the page.")
        sys.exit(130)
