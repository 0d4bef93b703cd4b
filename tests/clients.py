"""Runs jobs of other projects' programs, and writes the differences to docs/clients.md.

    python tests/clients.py BUILD all|vllm,torchvision,…

tests/frameworks/clients/NAME_job.py is the job of the client NAME, setup/clients/NAME.txt its
packages, pinned. For one client after another an environment is made,
tests/frameworks/clients_test.py runs the job in it, and the environment is removed. Jobs of one
client, which share one list of packages, run in one environment. A client with its own PyTorch, or
without PyTorch, says so in its list; the others share the PyTorch of .venv.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from made_table import MadeTable, outcome_of
from own_environment import OwnEnvironment

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/clients.md"
LISTS = ROOT / "setup/clients"
TEST = ROOT / "tests/frameworks/clients_test.py"
SHARED = ROOT / ".venv"
OWN_MARK = "# brings its own PyTorch"
WITHOUT_MARK = "# uses no PyTorch"
NEEDED_GB = 15  # for an environment with its own PyTorch while pip makes it
BEGIN = "<!-- made by tests/clients.py -->"
MODES = ("observed", "pooled", "graphs", "pooled-graphs")  # the names in clients_test.py
HEADINGS = ("client", "version", "PyTorch", *MODES, "date")


@dataclass(frozen=True)
class Client:
    """`packages` is the name of the list that has its packages; several jobs may share it."""

    name: str
    version: str
    has_own_torch: bool
    uses_torch: bool
    packages: str

    @property
    def requirements(self) -> Path:
        return LISTS / f"{self.packages}.txt"


def say(text: str) -> None:
    print(f"tests/clients.py: {text}", file=sys.stderr, flush=True)


def packages_of(file: Path) -> Path:
    """Returns the list that the job names: a second job of a client has the same packages."""
    named = re.search(r"^-r (\S+)$", file.read_text(), re.MULTILINE)
    return file.parent / named[1] if named else file


def lines_of(file: Path) -> list[str]:
    return packages_of(file).read_text().splitlines()


def read_client(file: Path) -> Client:
    """Reads a list of packages, of which the first one is the client itself."""
    lines = lines_of(file)
    pins = [pin for line in lines if (pin := re.match(r"([^#\s][^=\s]*)==(\S+)", line))]
    if not pins:
        raise ValueError(f"{file} pins nothing")
    has_own, uses_one = OWN_MARK in lines, WITHOUT_MARK not in lines
    return Client(file.stem, pins[0][2], has_own, uses_one, packages_of(file).stem)


def known_clients() -> list[Client]:
    return [read_client(file) for file in sorted(LISTS.glob("*.txt"))]


def choose(known: list[Client], wanted: str) -> list[Client]:
    """Returns the clients with these names. Raises SystemExit if one is unknown."""
    if wanted == "all":
        return known
    by_name = {client.name: client for client in known}
    unknown = [name for name in wanted.split(",") if name not in by_name]
    if unknown:
        names = ", ".join(by_name)
        raise SystemExit(f"tests/run: there is no client '{unknown[0]}' in setup/clients: {names}")
    return [by_name[name] for name in dict.fromkeys(wanted.split(","))]


class Environment(OwnEnvironment):
    """A folder with a client's packages."""

    def __init__(self, client: Client, cache: Path, *, keep: bool) -> None:
        self._client = client
        super().__init__(cache / client.packages, keep=keep)
        self._is_made = self._folder / "made"

    @property
    def report(self) -> Path:
        return self._folder / "report.xml"

    def make(self) -> None:
        """Makes the environment. Raises OSError if the disk is full or pip failed."""
        if self._keep and self._is_made.exists():
            return
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self._folder.parent).free
        if self._client.has_own_torch and free < NEEDED_GB << 30:
            raise OSError(f"{self._folder} has {free >> 30} GiB free, {NEEDED_GB} are needed")
        self._clear()
        # The shared environment's pip does the installation, so that no environment needs its own
        # pip.
        self._run(SHARED.resolve() / "bin/python", "-m", "venv", "--without-pip", self._folder)
        if not self._client.has_own_torch:
            self._share_packages()
        self._run(
            *(SHARED / "bin/python", "-m", "pip", "--python", self.python, "-q", "install"),
            *("--disable-pip-version-check", "--no-deps", "--no-compile"),
            *("-r", self._client.requirements),
        )
        self._is_made.touch()

    def _share_packages(self) -> None:
        """Adds the packages of .venv after the environment's own, by a line of a .pth file: an
        environment made from another one gets the packages of that one's Python, not of its folder.
        """
        (shared,) = (SHARED / "lib").glob("python*/site-packages")
        (own,) = (self._folder / "lib").glob("python*/site-packages")
        (own / "shared.pth").write_text(f"{shared.resolve()}\n")


def torch_release_of(python: Path) -> str:
    program = "import importlib.metadata as m; print(m.version('torch'))"
    ran = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return ran.stdout.strip().partition("+")[0]


def run_tests(client: Client, environment: Environment, arguments: argparse.Namespace) -> None:
    settings = {
        "VRAMSTOW_BUILD": str(arguments.build.resolve()),
        "VRAMSTOW_CLIENT": client.name,
        "VRAMSTOW_CLIENT_PYTHON": str(environment.python),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    chosen = " or ".join(f"[{mode}]" for mode in arguments.only or MODES)
    environment.report.unlink(missing_ok=True)
    subprocess.run(
        [*command, "-m", "client", "-k", chosen, f"--junitxml={environment.report}", TEST],
        env=os.environ | settings,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=False,
    )
    if not environment.report.is_file():
        raise OSError("its tests left no report")


class Page(MadeTable):
    """The table of docs/clients.md."""

    def __init__(self, text: str) -> None:
        super().__init__(text, BEGIN, HEADINGS, keys=1, between=" ", order=lambda key: key)


def try_client(client: Client, environment: Environment, arguments: argparse.Namespace) -> bool:
    """Returns True if all modes passed. Raises OSError if its tests did not run."""
    say(f"{client.name} {client.version}: running")
    release = torch_release_of(environment.python) if client.uses_torch else "none"
    run_tests(client, environment, arguments)
    outcomes = {
        mode: outcome_of(environment.report, f"[{mode}]") for mode in arguments.only or MODES
    }
    page = Page(PAGE.read_text())
    date = datetime.date.today().isoformat()
    page.put((client.name,), outcomes, version=client.version, PyTorch=release, date=date)
    PAGE.write_text(page.text())
    return not any(outcome.failures for outcome in outcomes.values())


def go_through(clients: list[Client], arguments: argparse.Namespace) -> list[str]:
    """Tries the clients in one environment; returns those that did not pass."""
    passed = set()
    environment = Environment(clients[0], arguments.environments, keep=arguments.keep)
    try:
        environment.make()
        for client in clients:
            if try_client(client, environment, arguments):
                passed.add(client)
    except OSError as error:
        names = ", ".join(client.name for client in clients)
        say(f"{names}: not all was tried: {error}.")
    finally:
        environment.remove()
    return [client.name for client in clients if client not in passed]


def environments_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("VRAMSTOW_CLIENTS") or Path(cache) / "vramstow-clients")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path, help="the folder of the build")
    parser.add_argument("clients", help="all, or a list of names")
    parser.add_argument(
        "--only", action="append", choices=MODES, help="only this mode; may be repeated"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the environment, and use one that was left"
    )
    parser.add_argument("--check", action="store_true", help="only look whether the list is right")
    parser.set_defaults(environments=environments_folder())
    arguments = parser.parse_args()
    chosen = choose(known_clients(), arguments.clients)
    if arguments.check:
        return 0
    failed = []
    for _, alike in itertools.groupby(chosen, key=lambda client: client.packages):
        failed += go_through(list(alike), arguments)
    if failed:
        say(f"not all passed: {', '.join(failed)}; {PAGE.relative_to(ROOT)} says what.")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("interrupted; what had run before is on the page.")
        sys.exit(130)
