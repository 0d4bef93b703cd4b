"""Makes the pictures of README.md: a browser's pictures of pages of the job in its example.

    python tests/tools/docs/readme_picture.py   # writes docs/report.png and two more

It needs PyTorch, a build and Chromium.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser import Browser
from readme_example import CARD, JOB, ROOT, run

# A size that fits into a page of text, and is still readable.
WIDTH, HEIGHT = 1200, 760
TIMELINE = ROOT / "docs/report.png"
DETAILS = ROOT / "docs/report-details.png"
FAILURE = ROOT / "docs/report-failure.png"
PICTURES = (TIMELINE, DETAILS, FAILURE)


def page_of(folder: Path, card: str, job: str, *flags: str) -> Path:
    """Returns the page of a new run. A job that runs out of memory ends with a failure."""
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    command = f"vramstow run --simulate={card} --stacks=sites -- {job}"
    run(*command.split(), cwd=folder, check=False)
    run("vramstow", "report", *flags, cwd=folder)
    return folder / "report.html"


def look(browser: Browser, element: str) -> None:
    browser.run(f"document.getElementById('{element}').scrollIntoView({{block: 'start'}})")
    # An element that becomes visible is drawn with the next frame.
    time.sleep(0.5)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        training = page_of(Path(name) / "training", "h200", JOB)
        failure = page_of(Path(name) / "failure", CARD, JOB, "--redact")
        browser = Browser(WIDTH, HEIGHT)
        try:
            browser.open(training)
            look(browser, "time-panel")
            browser.picture(TIMELINE, whole=False)
            browser.key("3")
            browser.click("#map", 0.3, 0.5)
            look(browser, "addresses-panel")
            browser.picture(DETAILS, whole=False)
            browser.open(failure)
            browser.picture(FAILURE, whole=False)
            if browser.errors:
                raise SystemExit(f"the page has errors: {browser.errors}")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
