"""Makes the picture of README.md: the page of the job in its example, as a browser shows it.

    python tests/tools/readme_picture.py        # writes docs/report.png

Needs PyTorch, a build and Chromium.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from browser import Browser
from readme_example import JOB, ROOT, run

PICTURE = ROOT / "docs/report.png"
# A size that fits into a page of text, and is still read.
WIDTH, HEIGHT = 1200, 760


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        command = "vramstow run --simulate=h200 --stacks=sites --"
        run(*command.split(), *JOB.split(), cwd=folder)
        run("vramstow", "report", "--redact", cwd=folder)
        browser = Browser(WIDTH, HEIGHT)
        try:
            browser.open(folder / "report.html")
            browser.key("t", "t")  # by event: by time the start-up is most of it
            browser.picture(PICTURE, whole=False)
            if browser.errors:
                raise SystemExit(f"the page has errors: {browser.errors}")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
