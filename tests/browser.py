"""A page opened in headless Chromium, and all that was wrong with it.

Chromium is driven through its DevTools protocol over a pair of pipes, so that every refused or missing resource, every
exception and every message of the console is seen, whether or not the page has scripts of its own.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
    "--window-size=1300,900",
)  # fmt: skip

IMAGES = """
JSON.stringify([...document.images].map(image => ({
    alt: image.alt, complete: image.complete, natural: [image.naturalWidth, image.naturalHeight],
    shown: [image.getBoundingClientRect().width, image.getBoundingClientRect().height],
    section: image.closest("[id]")?.id ?? "", external: !image.src.startsWith("data:"),
})))
"""

DRAWINGS = """
JSON.stringify([...document.querySelectorAll("main svg")].map(drawing => ({
    section: drawing.closest("section[id]")?.id ?? "", texts: drawing.querySelectorAll("text").length,
    shown: [drawing.getBoundingClientRect().width, drawing.getBoundingClientRect().height],
    scale: drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width,
})))
"""


@dataclass
class Page:
    """What a browser made of a page: its images and drawings, its text, its size in pixels, and every error."""

    title: str = ""
    text: str = ""
    width: int = 0
    height: int = 0
    drawings: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def chromium() -> str:
    """The browser: $SLUICEGATE_CHROMIUM, or one on the PATH. Fails the test when there is none."""
    named = os.environ.get("SLUICEGATE_CHROMIUM")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    for name in names:
        if found := shutil.which(name):
            return found
    raise AssertionError(
        f"no Chromium found (looked for {', '.join(names)}): install it, or set SLUICEGATE_CHROMIUM to its path"
    )


@contextmanager
def visiting(
    address: str, seconds: float = 60.0, until: str = "true", size: tuple[int, int] = (1300, 900)
) -> Iterator[Browser]:
    """A browser that has opened an address and waited until it has loaded and the expression `until` is true.

    Raises AssertionError on a time-out. `size`: of the page's window, in pixels.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-chromium-", ignore_cleanup_errors=True) as profile:
        browser = Browser(profile, time.monotonic() + seconds)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(f"{domain}.enable")
            browser.resize(*size)
            browser.call("Page.navigate", url=address)
            browser.wait_for("Page.loadEventFired")
            browser.wait_until(until)
            yield browser
        finally:
            browser.close()


def open_page(path: Path, seconds: float = 60.0, query: str = "", until: str = "true") -> Page:
    """Open the file at `path`, wait until it has loaded, and say what was seen. Raises AssertionError on a time-out.

    `query`: what stands after the question mark of its address. `until`: an expression that must have come true.
    """
    with visiting(path.resolve().as_uri() + (f"?{query}" if query else ""), seconds, until) as browser:
        return _seen(browser)


def _seen(browser: Browser) -> Page:
    # Decoding finishes every image or gives up on it; two frames later all is drawn.
    browser.evaluate(
        "Promise.allSettled([...document.images].map(image => image.decode()))"
        ".then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))).then(() => 0)"
    )
    page = Page(
        title=browser.evaluate("document.title"),
        text=browser.evaluate("document.body.innerText"),
        width=browser.evaluate("document.documentElement.scrollWidth"),
        height=browser.evaluate("document.documentElement.scrollHeight"),
        images=json.loads(browser.evaluate(IMAGES)),
        drawings=json.loads(browser.evaluate(DRAWINGS)),
    )
    page.errors = browser.errors()
    for image in page.images:
        if not image["complete"] or min(image["natural"]) == 0:
            page.errors.append(f"image without a picture: {image['alt'] or image['section']}")
        elif min(image["shown"]) == 0:
            page.errors.append(f"image of no size: {image['alt'] or image['section']}")
    return page


def _error(event: dict[str, Any]) -> str | None:
    """What is wrong according to an event of the protocol, or None."""
    method, params = event["method"], event["params"]
    if method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        return "exception: " + details.get("exception", {}).get("description", details["text"])
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
        return "console: " + " ".join(str(each.get("value", each)) for each in params["args"])
    if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        return "log: " + params["entry"]["text"]
    if method == "Network.loadingFailed":
        return "not loaded: " + params["errorText"]
    return None


class Browser:
    """A running Chromium and the two pipes to it; messages are JSON, ended by a zero byte."""

    def __init__(self, profile: str, deadline: float) -> None:
        self.deadline = deadline
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        self._count = 0
        self._pending = b""
        low_in, self._out = os.pipe()
        self._in, low_out = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4. The shell puts its ends of the pipes there, from higher
        # numbers, so that neither is overwritten on the way.
        their_in, their_out = (fcntl.fcntl(low, fcntl.F_DUPFD, 10) for low in (low_in, low_out))
        command = f'exec "$@" 3<&{their_in} 4>&{their_out} {their_in}<&- {their_out}>&-'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", chromium(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(their_in, their_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        for descriptor in (low_in, low_out, their_in, their_out):
            os.close(descriptor)

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")  # nothing for undefined

    def wait_until(self, expression: str) -> None:
        """Wait until an expression on the page is true."""
        while not self.evaluate(f"!!({expression})"):
            assert time.monotonic() < self.deadline, f"not true in time: {expression}"
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        """Give the page's window another size, in pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def errors(self) -> list[str]:
        """All that has been wrong with the page so far."""
        return [error for event in self.events if (error := _error(event))]

    def screenshot(self, path: Path) -> None:
        """What is in the window, as a PNG file."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def wait_for(self, method: str) -> None:
        """Wait for an event, unless it has come already."""
        while not any(event["method"] == method for event in self.events):
            self._receive()

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            left = self.deadline - time.monotonic()
            ready, _, _ = select.select([self._in], [], [], max(left, 0))
            assert ready, "Chromium did not answer in time"
            data = os.read(self._in, 1 << 16)
            assert data, f"Chromium ended (exit status {self._process.wait(10)})"
            self._pending += data
        message, self._pending = self._pending.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        if "method" in answer:
            self.events.append(answer)
        return answer

    def close(self) -> None:
        """End the browser and wait for it."""
        for descriptor in (self._out, self._in):
            os.close(descriptor)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # a group of its own, see start_new_session
            self._process.wait()
