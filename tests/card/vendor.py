"""Unpacks the vendor's driver library from Debian's package into a folder of the tests.

apt downloads the package with its own list of sources, and dpkg unpacks it: nothing is installed.
The downloaded files remain in the user's cache for the next time. The library is only called: it is
not changed, and no part of it is copied anywhere else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "vramstow-tests/drivers"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class NotToBeHad(Exception):
    """Raised if the library cannot be downloaded; the text is one sentence with the reason."""


@dataclass(frozen=True)
class Release:
    branch: str
    suite: str
    cuda: int


def releases() -> list[Release]:
    lines = (HERE / "releases.txt").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [Release(branch, suite, int(cuda)) for branch, suite, cuda in rows]


def debian() -> str:
    """Returns the server from which this machine gets Debian's packages."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None or not KEYS.exists():
        raise NotToBeHad("this is no Debian")
    form = "$(ORIGIN) $(REPO_URI) $(CODENAME)"
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", form, "Identifier: Packages"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
    for line in listed.splitlines():
        origin, *rest = line.split()
        # The names of updates and security fixes contain a dash.
        if origin == "Debian" and len(rest) == 2 and "-" not in rest[1]:
            return rest[0]
    raise NotToBeHad("apt knows no repository of Debian's; run apt-get update")


def apt(folder: Path, *command: str) -> None:
    options = {
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::status": "/dev/null",
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        "Acquire::Languages": "none",
        "Acquire::Retries": "1",
    }
    flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    done = subprocess.run(
        ["apt-get", *flags, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["apt-get failed"]
        raise NotToBeHad(f"libcuda1 cannot be fetched: {lines[-1]}")


def fetch(release: Release) -> Path:
    """Returns the folder that has libcuda.so.1 of this release."""
    folder = CACHE / release.branch
    library = folder / "unpacked/libcuda.so.1"
    if library.exists():
        return library.parent
    shutil.rmtree(folder, ignore_errors=True)
    for place in ("lists/partial", "cache/archives/partial", "files", "unpacked"):
        (folder / place).mkdir(parents=True)
    source = f"deb [signed-by={KEYS}] {debian()} {release.suite} non-free\n"
    (folder / "sources.list").write_text(source)
    apt(folder, "update")
    apt(folder, "download", f"libcuda1/{release.suite}")
    [package] = folder.glob("libcuda1_*.deb")
    subprocess.run(["dpkg-deb", "--extract", package, folder / "files"], check=True, timeout=60)
    [found] = [path for path in (folder / "files").rglob("libcuda.so.*.*") if path.is_file()]
    library.symlink_to(found)
    return library.parent
