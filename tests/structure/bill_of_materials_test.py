"""Checks the bill of materials that setup/wheel adds to a wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tree

SCRIPT = tree.ROOT / "setup/bill_of_materials.py"
PROGRAM = "#!/bin/sh\necho 'vramstow 1.2.3 (commit 0123456789ab, RelWithDebInfo)'\n"
# It knows each package but one. Of another it has what is installed, and the settings of a removed
# one of another architecture.
DPKG_QUERY = r"""#!/bin/sh
[ "$3" = libnone-dev ] && exit 1
[ "$3" = zlib1g-dev ] && printf "config-files 0:1\ninstalled 1:$3-7+b1\n"
echo "installed 1:$3-7+b1"
"""
OLDER = (
    "libc6_2.31-13_amd64.deb",
    "liblzma5_5.2.5-2.1~x_amd64.deb",
    "libunwind8_1.3.2-2_amd64.deb",
)


def executable(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    folder = tmp_path / "vramstow-1.2.3"
    native = folder / "vramstow/native"
    executable(native / "bin/vramstow", PROGRAM)
    executable(tmp_path / "bin/dpkg-query", DPKG_QUERY)
    (native / "lib/vramstow/licences").mkdir(parents=True)
    for name in ("zlib1g-dev", "libabsl-dev"):
        (native / "lib/vramstow/licences" / name).touch()
    (folder / "vramstow-1.2.3.dist-info").mkdir()
    (tmp_path / "older").mkdir()
    for name in OLDER:
        (tmp_path / "older" / name).touch()
    return folder


def write(unpacked: Path) -> subprocess.CompletedProcess[str]:
    above = unpacked.parent
    path = f"{above / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        (sys.executable, SCRIPT, unpacked, above / "older"),
        env=os.environ | {"PATH": path, "SOURCE_DATE_EPOCH": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_has_what_is_linked_and_what_lies_in_the_wheel(unpacked: Path) -> None:
    done = write(unpacked)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    file = unpacked / "vramstow-1.2.3.dist-info/sboms/vramstow.spdx.json"
    document = json.loads(file.read_text())
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["creationInfo"]["created"] == "1970-01-01T00:00:00Z"
    versions = {one["name"]: one["versionInfo"] for one in document["packages"]}
    assert versions["vramstow"] == "1.2.3"
    assert versions["libabsl-dev"] == "1:libabsl-dev-7+b1"
    assert versions["liblzma5"] == "5.2.5-2.1~x" and versions["libc6"] == "2.31-13"
    assert "commit 0123456789ab" in document["packages"][0]["comment"]
    names = {one["SPDXID"]: one["name"] for one in document["packages"]}
    relations = {
        (one["relationshipType"], names[one["relatedSpdxElement"]])
        for one in document["relationships"]
    }
    assert len(names) == len(document["packages"]) == len(relations) == 8
    assert {("STATIC_LINK", "zlib1g-dev"), ("CONTAINS", "libunwind8")} < relations
    assert {("DYNAMIC_LINK", "libc6"), ("DESCRIBES", "vramstow")} < relations
    locators = [one["externalRefs"][0]["referenceLocator"] for one in document["packages"][1:]]
    assert "pkg:deb/debian/zlib1g-dev@1%3Azlib1g-dev-7%2Bb1" in locators
    before = file.read_text()
    write(unpacked)
    assert file.read_text() == before


def test_a_package_of_unknown_version_is_one_sentence(unpacked: Path) -> None:
    licence = unpacked / "vramstow/native/lib/vramstow/licences/libnone-dev"
    licence.touch()
    done = write(unpacked)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "dpkg-query fails for libnone-dev" in done.stderr
    licence.unlink()
    (unpacked.parent / "older" / OLDER[1]).unlink()
    done = write(unpacked)
    assert done.returncode == 1 and "0 packages of liblzma5" in done.stderr
