"""A real headless browser, driven over a pipe by the Chrome DevTools Protocol."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # tests run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--remote-debugging-pipe",
)
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class Page:
    """One page of a browser; `complaints` are what it wrote to its console."""

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self._requests, self._answers = requests, answers
        self._ids = itertools.count(1)
        self._session = ""
        self.complaints: list[str] = []
        self.loaded: list[str] = []
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        attached = self.do("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do one thing, and return what comes of it."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._requests.write(json.dumps(message).encode() + b"\0")
        self._requests.flush()
        while (answer := self._next()).get("id") != number:
            pass
        assert "error" not in answer, answer["error"]
        result: dict[str, Any] = answer["result"]
        return result

    def show(self, file: Path, *, width: int, dark: bool = False, media: str = "screen") -> None:
        """Open a page in a window of a width, light or dark, on a screen or on paper."""
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=844,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.do("Page.navigate", url=file.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression: str) -> Any:
        """Return what an expression is in the page."""
        found = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """Save the whole page as a picture."""
        shot = self.do("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def print(self, file: Path) -> None:
        """Save what a printer would get."""
        made = self.do("Page.printToPDF", printBackground=True)
        file.write_bytes(base64.b64decode(made["data"]))

    def _next(self) -> Mapping[str, Any]:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser ended"
            text += byte
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in COMPLAINTS:
            self.complaints.append(json.dumps(message["params"]))
        if message.get("method") == "Network.requestWillBeSent":
            self.loaded.append(message["params"]["request"]["url"])
        return message


@contextmanager
def browser(program: str, profile: Path) -> Iterator[Page]:
    """Start a browser with an empty profile, and end it."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()

    def at_3_and_4() -> None:
        os.dup2(os.dup(to_read), 3)
        os.dup2(os.dup(from_write), 4)

    process = subprocess.Popen(
        [program, *ARGUMENTS, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=at_3_and_4,  # noqa: PLW1509  # no thread is left in a lock: nothing else runs
        close_fds=False,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        with os.fdopen(to_write, "wb") as requests, os.fdopen(from_read, "rb") as answers:
            yield Page(requests, answers)
    finally:
        process.kill()
        process.wait()
