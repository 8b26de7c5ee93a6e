"""A headless Chromium, spoken to through a pipe: opens a page, evaluates, clicks, types, takes pictures."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run", "--mute-audio")
ANSWERS = 120
"""Seconds within which the browser answers, if ever."""


class Browser:
    """One page of a browser; `errors` are what its program has thrown, `asked` the addresses that it asked for."""

    def __enter__(self) -> Browser:
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.numbers = count(1)
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs, self.write = os.pipe()
        self.read, answers = os.pipe()

        def as_three_and_four() -> None:
            os.dup2(os.dup(theirs), 3)
            os.dup2(os.dup(answers), 4)

        fds = (3, 4, theirs, answers)
        words = [CHROMIUM, *FLAGS, f"--user-data-dir={self.folder.name}"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            words, stdout=quiet, stderr=quiet, pass_fds=fds, preexec_fn=as_three_and_four, start_new_session=True
        )
        os.close(theirs)
        os.close(answers)
        self.rest = b""
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self.write)
        os.close(self.read)
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def call(self, method: str, **words: Any) -> Any:
        """What the page's answer to a command of the DevTools protocol is."""
        return self._call(method, words, self.session)

    def _call(self, method: str, words: dict[str, Any], session: str | None = None) -> Any:
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": words, **({"sessionId": session} if session else {})}
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            got = self._message()
            if got.get("id") == number:
                assert "error" not in got, got
                return got["result"]
            self._heard(got)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read], [], [], ANSWERS)
            assert ready, f"the browser has said nothing for {ANSWERS} s"
            more = os.read(self.read, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        first, _, self.rest = self.rest.partition(b"\0")
        return json.loads(first)

    def _heard(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            details = event["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        if event.get("method") == "Network.requestWillBeSent":
            self.asked.append(event["params"]["request"]["url"])

    def open(self, path: Path, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Show a file, and wait until its program says that it is ready."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Page.navigate", url=path.as_uri())
        self.ask(
            "new Promise(done => { const look = () => document.body && document.body.dataset.ready ? done(1)"
            " : setTimeout(look, 20); look(); setTimeout(() => done(0), 20000); })"
        )

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page, which may be a promise."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")

    def click(self, selector: str, at: int = 0) -> None:
        """Press the mouse in the middle of the element, of those that a selector finds, at this place."""
        x, y = self.ask(
            f"(() => {{ const box = document.querySelectorAll({json.dumps(selector)})[{at}].getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + Math.min(box.height / 2, 8)]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def press(self, key: str) -> None:
        """Press a key by its name, such as Tab, Enter or ArrowDown."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        words = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": code[key],
            **({"text": "\r"} if key == "Enter" else {}),
        }
        self.call("Input.dispatchKeyEvent", type="keyDown", **words)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code[key])

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
