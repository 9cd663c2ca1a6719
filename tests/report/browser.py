"""The distribution's Chromium without a window, by its DevTools protocol over a pipe: no package needed."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found_browser():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of one Chromium; a context manager.

    Attributes:
        events: What the page and the network told, in order.
    """

    def __init__(self, width=1440, height=900, dark=False):
        self.size, self.dark, self.events, self.numbers = (width, height), dark, [], itertools.count(1)
        self.rest = b""

    def __enter__(self):
        self.home = tempfile.TemporaryDirectory(prefix="geodrift-browser-", ignore_cleanup_errors=True)
        to_browser, self.write_end = _pipe()
        self.read_end, from_browser = _pipe()
        # The browser reads descriptor 3 and writes descriptor 4; bash knows numbers above 9, sh need not.
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += [
            "--remote-debugging-pipe",
            "--disable-background-networking",
            f"--user-data-dir={self.home.name}",
        ]
        self.process = subprocess.Popen(
            ["bash", "-c", command, found_browser(), *flags, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        self.resize(*self.size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}]
        scheme.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.downloads = Path(self.home.name) / "downloads"
        self.downloads.mkdir()
        session, self.session = self.session, None
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        self.session = session
        return self

    def __exit__(self, *error):
        # The other processes of the browser end with the pipe, some time after the first one.
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        self.home.cleanup()

    def call(self, method, **arguments):
        """The answer to one command; what the page tells meanwhile is kept."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": arguments}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next(60)
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]
            self.events.append(told)

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def processor_seconds(self):
        """What each process of the browser has taken of the processor since it started, by its number."""
        session, self.session = self.session, None
        told = self.call("SystemInfo.getProcessInfo")["processInfo"]
        self.session = session
        return {process["id"]: process["cpuTime"] for process in told}

    def open(self, path):
        """Open a file; returns when it is loaded and the first picture is drawn."""
        self.events.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next(60))
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script):
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key, code=None):
        """A key, by its name, such as Tab or Enter."""
        numbers = {"Tab": 9, "Enter": 13, " ": 32}
        arguments = {"key": key, "code": code or key, "windowsVirtualKeyCode": numbers.get(key, 0)}
        text = {"Enter": "\r", " ": " "}.get(key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **arguments, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **arguments)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def hover(self, selector):
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])

    def picture(self, path, whole=True):
        """A screenshot as PNG."""
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(told["data"]))

    def complaints(self):
        """Errors and warnings of the console, and exceptions."""
        said = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                said.append(event["params"]["exceptionDetails"]["text"])
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] != "info":
                said.append(event["params"]["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                said.append(str(event["params"]["args"]))
        return said

    def requests(self):
        """What was asked for, besides the file itself and what the page made."""
        sent = [
            e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in sent[1:] if not url.startswith("blob:")]

    def _next(self, seconds):
        """The next message."""
        until = time.monotonic() + seconds
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.read_end], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self.read_end, 1 << 20)
            assert part, "the browser has ended"
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)


def _pipe():
    """Both ends of a pipe, above the numbers that the browser uses."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high
