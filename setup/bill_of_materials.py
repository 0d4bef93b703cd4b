"""Writes the bill of materials of a wheel, in SPDX 2.3 as JSON.

    python3 setup/bill_of_materials.py UNPACKED PACKAGES

UNPACKED is the folder of the unpacked wheel, PACKAGES one with the Debian packages of the older
release (.deb) that the wheel is linked against. The file goes into the wheel's .dist-info/sboms.
Which libraries are linked statically is taken from the licences that lie in the wheel, and their
versions from this machine's packages, because the wheel is linked with these.

Exit status: 0, or 1 with a sentence if a package is unknown or a file cannot be written.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import urllib.parse
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# The C++ runtime is linked statically, too.
RUNTIME = ("libgcc-12-dev", "libstdc++-12-dev")
# Libraries of the older release that lie in the wheel as files of their own.
IN_THE_WHEEL = ("liblzma5", "libunwind8")
C_LIBRARY = "libc6"


class Unknown(Exception):
    """Something cannot be found out; the text is a whole sentence."""


@dataclass(frozen=True)
class Component:
    name: str  # of the Debian package
    version: str
    relation: str  # of the wheel to it, as SPDX names it
    comment: str = ""

    @property
    def identifier(self) -> str:
        sound = "".join(sign if sign.isalnum() else "-" for sign in self.name)
        return f"SPDXRef-{sound}-{self.relation.lower().replace('_', '-')}"


def output_of(*command: str | Path) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unknown(f"{command[0]} cannot be run: {error.strerror}.") from error
    if ran.returncode != 0:
        raise Unknown(f"{command[0]} fails for {command[-1]}: {ran.stderr.strip()}.")
    return ran.stdout.strip()


def installed_version(package: str) -> str:
    said = output_of("dpkg-query", "-W", r"-f=${db:Status-Status} ${Version}\n", package)
    # A package that is installed for two architectures has a line for each, of the same version.
    installed = [line.split()[1] for line in said.splitlines() if line.startswith("installed ")]
    if not installed:
        raise Unknown(f"The Debian package {package} is not installed, so its version is unknown.")
    return installed[0]


def older_version(package: str, folder: Path) -> str:
    """Returns the version that the name of the package's file has: NAME_VERSION_ARCHITECTURE."""
    found = sorted(folder.glob(f"{package}_*.deb"))
    if len(found) != 1:
        raise Unknown(f"{folder} has {len(found)} packages of {package}, and one is needed.")
    return urllib.parse.unquote(found[0].name.split("_")[1])


def components(native: Path, older: Path) -> Iterator[Component]:
    linked = sorted(path.name for path in (native / "lib/vramstow/licences").iterdir())
    if not linked:
        raise Unknown(f"{native} has no licences, so that nothing says what is linked.")
    for name in (*linked, *RUNTIME):
        yield Component(name, installed_version(name), "STATIC_LINK")
    for name in IN_THE_WHEEL:
        yield Component(name, older_version(name, older), "CONTAINS")
    comment = "The system's own C library is used; this is the oldest one that the wheel runs with."
    yield Component(C_LIBRARY, older_version(C_LIBRARY, older), "DYNAMIC_LINK", comment)


def package_of(component: Component) -> dict:
    reference = urllib.parse.quote(component.name), urllib.parse.quote(component.version)
    package = {
        "SPDXID": component.identifier,
        "name": component.name,
        "versionInfo": component.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{reference[0]}@{reference[1]}",
            }
        ],
    }
    return package | ({"comment": component.comment} if component.comment else {})


def bill(built: str, parts: list[Component], created: datetime.datetime) -> dict:
    """Returns the document. `built` is what vramstow --version prints."""
    ours = {
        "SPDXID": "SPDXRef-vramstow",
        "name": "vramstow",
        "versionInfo": built.split()[1],
        "comment": built,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
    }
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-vramstow")]
    relations += [("SPDXRef-vramstow", part.relation, part.identifier) for part in parts]
    packages = [ours, *map(package_of, parts)]
    text = json.dumps(packages, sort_keys=True)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "vramstow",
        "documentNamespace": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, text)}",
        "creationInfo": {
            "created": f"{created:%Y-%m-%dT%H:%M:%SZ}",
            "creators": ["Tool: vramstow-bill-of-materials"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }


def write(unpacked: Path, older: Path) -> None:
    native = unpacked / "vramstow/native"
    [information] = unpacked.glob("vramstow-*.dist-info")
    built = output_of(native / "bin/vramstow", "--version")
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    utc = datetime.timezone.utc
    created = datetime.datetime.fromtimestamp(int(seconds), utc) if seconds else None
    parts = list(components(native, older))
    document = bill(built, parts, created or datetime.datetime.now(utc))
    (information / "sboms").mkdir(exist_ok=True)
    file = information / "sboms/vramstow.spdx.json"
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 1
    try:
        write(Path(sys.argv[1]), Path(sys.argv[2]))
    except Unknown as error:
        print(f"setup/bill_of_materials.py: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"setup/bill_of_materials.py: {error.filename} cannot be read or written: "
            f"{error.strerror}.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
