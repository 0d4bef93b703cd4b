"""Lists the targets that must be built before tests can run, for tests/run --only.

python tests/targets.py BUILD PATTERN prints the targets of the tests whose names match; nothing if
none does. The build records the targets of each test: cmake/VramstowTestTargets.cmake.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def targets(lines: list[str], pattern: str) -> list[str]:
    found: set[str] = set()
    for line in lines:
        test, _, needed = line.partition(":")
        if re.search(pattern, test):
            # A test may need no target. With an empty list ninja would build everything, so the
            # list contains build.ninja.
            found.update(needed.split() or ["build.ninja"])
    return ["all"] if "all" in found else sorted(found)


def main() -> int:
    build, pattern = sys.argv[1:]
    # Update the build file first, so that a test that was just added is found.
    subprocess.run(["ninja", "-C", build, "build.ninja"], check=True, stdout=subprocess.DEVNULL)
    print(" ".join(targets((Path(build) / "test-targets.txt").read_text().splitlines(), pattern)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
