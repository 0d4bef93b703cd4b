"""Checks the Debian package: its contents, its dependencies, and that it runs unpacked."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from built import BUILD
from conftest import check_binaries, check_rehearsal, must


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    must("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
    [made] = folder.glob("*.deb")
    return made


@pytest.fixture(scope="module")
def unpacked(package: Path) -> Path:
    folder = package.parent / "unpacked"
    must("dpkg-deb", "--extract", package, folder)
    return folder


def field(package: Path, name: str) -> str:
    return must("dpkg-deb", "--field", package, name).strip()


def test_what_it_says_of_itself(package: Path) -> None:
    architecture = must("dpkg", "--print-architecture").strip()
    version = field(package, "Version")
    assert package.name == f"vramstow_{version}_{architecture}.deb"
    assert field(package, "Package") == "vramstow"
    assert field(package, "Section") == "utils"
    assert re.fullmatch(r".+ <.+@.+>", field(package, "Maintainer"))
    summary, *description = field(package, "Description").splitlines()
    assert 10 < len(summary) <= 80 and not summary.endswith(".")
    assert description and all(line.startswith(" ") for line in description)
    assert int(field(package, "Installed-Size")) < 64 * 1024, "stripped"


def test_it_depends_on_what_it_links(package: Path) -> None:
    depends = {re.split(r"[ (|]", name.strip())[0] for name in field(package, "Depends").split(",")}
    # The package depends only on the C library and liblzma, which every Debian has: the package's
    # copy of libunwind needs it. All else is linked statically.
    assert depends == {"libc6", "liblzma5"}
    # All dependencies are installed here, because the build needed them.
    must("dpkg", "--simulate", "--force-not-root", "--install", package)


def test_it_has_what_a_package_must_have(package: Path, unpacked: Path) -> None:
    for name in (
        "bin/vramstow",
        "lib/libvramstow.so",
        "lib/libvramstow-core.so",
        "lib/vramstow/libvramstow-unwind.so",
        "lib/vramstow/libunwind-copyright",
        "lib/vramstow/simulator/libcuda.so.1",
        "lib/vramstow/adapters/adapters/torch/install.cc",
        "lib/vramstow/python/sitecustomize.py",
        "lib/vramstow/python/vramstow_start/hook.py",
        "lib/cmake/vramstow/vramstowConfig.cmake",
        "include/vramstow/vramstow.h",
        "share/doc/vramstow/copyright",
        "share/doc/vramstow/docs/run.md",
        "share/doc/vramstow/docs/schemas/vramstow.analysis.json",
        "share/bash-completion/completions/vramstow",
        "share/zsh/vendor-completions/_vramstow",
    ):
        assert (unpacked / "usr" / name).is_file(), name
    assert [path.name for path in unpacked.iterdir()] == ["usr"]
    assert not list(unpacked.rglob("__pycache__"))
    control = package.parent / "control"
    must("dpkg-deb", "--control", package, control)
    assert (control / "triggers").read_text() == "activate-noawait ldconfig\n"
    assert "usr/bin/vramstow" in (control / "md5sums").read_text()
    # A program that searches for a driver must not find the simulator's libraries.
    assert not list((unpacked / "usr/lib").glob("libcu*"))


def test_owners_and_modes_are_as_they_should_be(package: Path, unpacked: Path) -> None:
    for line in must("dpkg-deb", "--contents", package).splitlines():
        mode, owner, *_ = line.split()
        assert owner == "root/root", line
        assert mode in ("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"), line
    program = (unpacked / "usr/bin/vramstow").stat().st_mode
    assert program & stat.S_IXOTH


def test_nothing_in_it_knows_where_it_was_built(unpacked: Path) -> None:
    check_binaries(unpacked)


def test_it_runs_where_it_is_unpacked(unpacked: Path, tmp_path: Path) -> None:
    check_rehearsal(unpacked / "usr", tmp_path / "job")
