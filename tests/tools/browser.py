"""Controls a headless Chromium over its debugging pipe, without any other package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DEADLINE_S = 60


class Browser:
    """One page. Commands are written to file 3 of Chromium, answers are read from its file 4."""

    def __init__(self, width: int = 1280, height: int = 900) -> None:
        assert CHROMIUM is not None
        self.profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        to_browser, self.to_browser = os.pipe()
        self.from_browser, from_browser = os.pipe()
        # The child process needs exactly the descriptors 3 and 4; a shell duplicates them from the
        # numbers that they have here.
        self.process = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"',
                "bash",
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
                "--no-first-run",
                f"--user-data-dir={self.profile.name}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.pending = b""
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def close(self) -> None:
        os.close(self.to_browser)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.from_browser)
        self.profile.cleanup()

    def receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.pending:
            ready, _, _ = select.select(
                [self.from_browser], [], [], max(0, deadline - time.monotonic())
            )
            if not ready:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self.from_browser, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.pending += piece
        message, self.pending = self.pending.split(b"\0", 1)
        answer = json.loads(message)
        if answer.get("method") == "Runtime.exceptionThrown":
            details = answer["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        if answer.get("method") == "Log.entryAdded":
            self.errors.append(answer["params"]["entry"]["text"])
        if answer.get("method") == "Network.requestWillBeSent":
            self.requests.append(answer["params"]["request"]["url"])
        return answer

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + DEADLINE_S
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, page: Path) -> float:
        """Opens a page and waits until its script has run. Returns the seconds that it took."""
        begin = time.monotonic()
        self.call("Page.navigate", url=page.as_uri())
        while self.run("document.readyState === 'complete' && !!window.vramstow") is not True:
            if time.monotonic() - begin > DEADLINE_S:
                raise TimeoutError(f"the page does not come up: {self.errors}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def run(self, expression: str) -> Any:  # noqa: ANN401 (whatever the page says)
        """Returns the value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def place(self, selector: str, x: float, y: float) -> tuple[float, float]:
        """Returns a point in an element, given as shares of its width and height, after scrolling
        to it."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        return box[0] + box[2] * x, box[1] + box[3] * y

    def mouse(self, kind: str, at: tuple[float, float], **more: object) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def click(self, selector: str, x: float = 0.5, y: float = 0.5) -> None:
        at = self.place(selector, x, y)
        self.mouse("mouseMoved", at)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, at, button="left", clickCount=1)

    def drag(self, selector: str, x1: float, x2: float, y: float = 0.5) -> None:
        begin = self.place(selector, x1, y)
        end = self.place(selector, x2, y)
        self.mouse("mousePressed", begin, button="left", clickCount=1)
        for step in (0.3, 0.7, 1):
            at = (begin[0] + (end[0] - begin[0]) * step, begin[1])
            self.mouse("mouseMoved", at, button="left", buttons=1)
        self.mouse("mouseReleased", end, button="left", clickCount=1)

    def wheel(self, selector: str, delta: float, x: float = 0.5) -> None:
        at = self.place(selector, x, 0.5)
        self.mouse("mouseWheel", at, deltaX=0, deltaY=delta)

    def key(self, key: str, text: str | None = None) -> None:
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **extra)

    def picture(self, path: Path, whole: bool = True) -> None:
        result = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(result["data"]))
