"""A page in headless Chromium, by the DevTools protocol over a pipe: what it logs, what it draws, how it looks."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1200, 900
_SECONDS = 60.0
_FIRST_FREE = 10
# Descriptors 3 and 4 are what --remote-debugging-pipe reads and writes.
_COMMAND = (
    'exec "$0" --headless=new --remote-debugging-pipe --no-sandbox --disable-gpu --no-first-run --disable-extensions '
    '--disable-background-networking --hide-scrollbars --user-data-dir="$1" about:blank 3<&"$2" 4>&"$3"'
)


def browser() -> str | None:
    """The program, if one is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One page; :attr:`problems`: errors and warnings that it logged, :attr:`requests`: what it wanted to load."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write, self._number, self._buffer = read, write, 0, b""
        self._session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []

    def open(self, file: Path, *, dark: bool = False) -> None:
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self._call(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0
        )
        self.resize(WIDTH, HEIGHT)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=file.absolute().as_uri())
        self.wait_for("document.readyState === 'complete'")

    def resize(self, width: int, height: int) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def evaluate(self, expression: str) -> Any:
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        end = time.monotonic() + _SECONDS
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"{expression} did not come true in {_SECONDS} s; {self.problems}"
            time.sleep(0.05)

    def screenshot(self, file: Path, *, whole: bool = True, height: int = HEIGHT) -> None:
        tall = int(self.evaluate("document.documentElement.scrollHeight")) if whole else height
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": tall, "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.problems.append(str(parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.problems.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])


def _pipe() -> tuple[int, int]:
    """Two ends above what the shell is about to put there."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for end in low)
    for end in low:
        os.close(end)
    return high[0], high[1]


@contextmanager
def opened(file: Path, profile: Path, *, dark: bool = False) -> Iterator[Page]:
    """The page of a file, without a network; ``profile`` is a folder for the browser."""
    program = browser()
    assert program is not None
    there, write = _pipe()
    read, back = _pipe()
    command = ["bash", "-c", _COMMAND, program, str(profile), str(there), str(back)]
    with subprocess.Popen(command, pass_fds=(there, back), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # fmt: skip
        try:
            os.close(there)
            os.close(back)
            page = Page(read, write)
            page.open(file, dark=dark)
            yield page
        finally:
            process.terminate()
            process.wait(timeout=_SECONDS)
            os.close(read)
            os.close(write)
