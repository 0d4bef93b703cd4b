"""Checks that libcudart exports every symbol that the installed wheels need, with its version node.

Usage: exported_symbols_test.py LIBCUDART SITE_PACKAGES [CUDA_INCLUDE ...]
It also checks that every function which the given headers (cuda_runtime_api.h) declare is exported.
The exit code is 77 if there is nothing to compare with (no torch with CUDA).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from built import run_program

NODE = "libcudart.so.13"
SKIPPED = 77


def dynamic_symbols(library: Path, which: str) -> set[str]:
    """Returns the names (name@node) that `nm -D` lists; a default version's @@ counts as @."""
    listing = run_program("nm", "-D", which, library).stdout
    return {line.split()[-1].replace("@@", "@") for line in listing.splitlines() if line.split()}


def wanted_by(site_packages: Path) -> dict[str, str]:
    """Returns each needed name@node, and one library that needs it."""
    wanted: dict[str, str] = {}
    for folder in ("torch", "nvidia", "triton"):
        for library in sorted((site_packages / folder).rglob("*.so*")):
            if library.is_file() and not library.is_symlink():
                for symbol in dynamic_symbols(library, "--undefined-only"):
                    if f"@{NODE}" in symbol:
                        wanted.setdefault(symbol, library.name)
    return wanted


def declared_in(include: Path) -> set[str]:
    """Returns the functions that cuda_runtime_api.h declares."""
    text = (include / "cuda_runtime_api.h").read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return set(re.findall(r"extern\b[^;{(]*\bCUDARTAPI\s+(cuda\w+)\s*\(", text))


def main() -> int:
    library, site_packages = Path(sys.argv[1]), Path(sys.argv[2])
    exported = dynamic_symbols(library, "--defined-only")
    failures = [
        f"{symbol} (declared in {include})"
        for include in map(Path, sys.argv[3:])
        for symbol in sorted(f"{name}@{NODE}" for name in declared_in(include))
        if symbol not in exported
    ]
    wanted = wanted_by(site_packages) if site_packages.is_dir() else {}
    failures += [
        f"{symbol} (wanted by {user})"
        for symbol, user in sorted(wanted.items())
        if symbol not in exported
    ]
    foreign = sorted(
        name for name in exported if "cuda" not in name and name not in (NODE, f"{NODE}@{NODE}")
    )
    failures += [f"{name} is exported and should not be" for name in foreign]
    for failure in failures:
        print(f"not as it should be: {failure}")
    print(f"{len(exported)} symbols are exported, {len(wanted)} are wanted by wheels")
    if failures:
        return 1
    if not wanted:
        print(f"SKIPPED: no library below {site_packages} wants {NODE}")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
