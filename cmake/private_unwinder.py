"""Makes a private copy of libunwind's shared library: private_unwinder.py LIBRARY COPY.

The copy has a name of its own in its dynamic section. Under the old name the dynamic linker would
give it to every library of the host process that needs libunwind and comes later.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

OLD = b"libunwind.so."
NEW = b"vramstowu.so."


def main() -> None:
    library, copy = Path(sys.argv[1]), Path(sys.argv[2])
    content = library.resolve().read_bytes()
    names = re.findall(rb"\0" + re.escape(OLD) + rb"\d+\0", content)
    if content[:4] != b"\x7fELF" or len(names) != 1 or len(OLD) != len(NEW):
        sys.exit(f"{library} is not the shared library of libunwind that was expected.")
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(content.replace(names[0], names[0].replace(OLD, NEW)))
    copy.chmod(0o755)


if __name__ == "__main__":
    main()
