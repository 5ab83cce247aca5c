"""A headless Chromium, driven over the DevTools protocol by a pair of pipes: needs nothing but Python and the browser."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, width=1600, height=1000):
        self.profile = tempfile.mkdtemp(prefix="orias-browser-")
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def give_pipes():
            # The protocol's pipes are 3 and 4; other descriptors may have these numbers already.
            high = [os.dup(to_browser), os.dup(from_browser)]
            high = [os.dup2(fd, number) for fd, number in zip(high, (60, 61))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=give_pipes, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.buffer = b""
        self.messages = []  # that no command has asked for
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.into, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, params=None, seconds=90):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self.read(deadline)
            if answer.get("id") != self.number:
                self.messages.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def run(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def open(self, path, address="", seconds=60):
        """Opens a page of ours, and waits until it says that it is ready. Returns the milliseconds that it took."""
        self.call("Page.navigate", {"url": "about:blank"})
        try:
            self.settle()
        except RuntimeError:  # the page is being replaced
            pass
        self.messages = []  # with the last ones of the page before
        self.call("Page.navigate", {"url": "file://" + os.path.abspath(path) + address})
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                ready = self.run("document.documentElement.dataset.ready")
            except RuntimeError:  # the page is being replaced
                ready = None
            if ready:
                return int(ready)
            if self.problems():
                break
            time.sleep(0.05)
        raise TimeoutError(f"{path} does not become ready: {self.problems()}")

    def problems(self):
        """Errors on the console, exceptions, and requests of anything but the page itself."""
        found = []
        for message in self.messages:
            params = message.get("params", {})
            if message.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
            elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(f"{params['entry']['text']} {params['entry'].get('url', '')}".rstrip())
            elif message.get("method") == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "about:", "data:", "blob:")):
                    found.append("asks the network for " + url)
        return found

    def key(self, key):
        """Presses a key in the element that has the focus."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "End": 35,
                 "Home": 36, "PageDown": 34}
        params = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key.upper()) if len(key) == 1 else 0)}
        if len(key) == 1:
            params["text"] = key
        elif key == "Enter":
            params["text"] = "\r"
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **params})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **params})
        self.settle()

    def keys(self, text):
        for key in text:
            self.key(key)

    def settle(self):
        """Two frames, and what waits for them."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def screenshot(self, path):
        self.settle()
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
