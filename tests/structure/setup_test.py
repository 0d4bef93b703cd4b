"""Checks the output of setup/setup.sh when it installs Debian packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import tree

# A script that replaces apt-get: it prints several lines for each package, to stdout and to stderr.
APT = """#!/bin/sh
echo "Unpacking $*"
echo "(Reading database ... 5%" >&2
[ "$1" != "$FAILS" ]
"""


def install(folder: Path, *, fails: str = "") -> subprocess.CompletedProcess[str]:
    """Runs it as root in a system that has none of the packages."""
    for name, text in (
        ("apt-get", APT),
        ("dpkg-query", "#!/bin/sh\n"),
        ("id", "#!/bin/sh\necho 0"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "list.txt").write_text("# What is needed.\ng++\ncmake\n")
    script = f". {tree.ROOT}/setup/setup.sh; install_packages {folder}/list.txt; echo goes on"
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "FAILS": fails}
    return subprocess.run(
        ("bash", "-euo", "pipefail", "-c", script),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_packages_are_installed_in_one_line(tmp_path: Path) -> None:
    done = install(tmp_path)
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert done.stderr == "Installing Debian packages: g++ cmake\n"


def test_where_that_fails_its_own_words_are_shown(tmp_path: Path) -> None:
    for step in ("update", "install"):
        done = install(tmp_path, fails=step)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Reading database" in done.stderr and f"Unpacking {step}" in done.stderr
        last = done.stderr.splitlines()[-1]
        assert last == ("The Debian packages could not be installed; see above. Wanted: g++ cmake")
