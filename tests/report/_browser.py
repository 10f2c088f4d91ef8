# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven through chromedriver by the WebDriver protocol."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from pathlib import Path

# A browser that starts no connection of its own; root needs --no-sandbox.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def find_browser():
    """Return the paths of chromium and chromedriver, None where one is absent."""
    browsers = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, browsers), None), shutil.which("chromedriver")


class Browser:
    """One session; a context manager that ends it and its processes."""

    def __init__(self, browser, driver):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [driver, "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._url = f"http://127.0.0.1:{self._port()}"
        options = {
            "binary": browser,
            "args": [*FLAGS, f"--user-data-dir={self._profile.name}"],
        }
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self._session = ""
        answer = self._call(
            "POST", "/session", {"capabilities": {"alwaysMatch": capabilities}}
        )
        self._session = f"/session/{answer['sessionId']}"

    def _port(self):
        for line in self._process.stdout:
            if "started successfully on port" in line:
                return int(line.strip().rstrip(".").rsplit(" ", 1)[1])
        raise RuntimeError("chromedriver did not start")

    def _call(self, method, path, content=None):
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if content is None else json.dumps(content).encode(),
            headers={"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as response:
            return json.load(response)["value"]

    def open(self, path, *, width=1200, height=900, dark=False):
        """Show a file in a window of some size."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {
            "name": "prefers-color-scheme",
            "value": "dark" if dark else "light",
        }
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self._call("POST", f"{self._session}/url", {"url": Path(path).as_uri()})

    def command(self, name, **params):
        """Run a command of the Chrome DevTools protocol."""
        content = {"cmd": name, "params": params}
        return self._call("POST", f"{self._session}/goog/cdp/execute", content)

    def run(self, script):
        """Return what JavaScript returns; for the test, the page has none."""
        content = {"script": script, "args": []}
        return self._call("POST", f"{self._session}/execute/sync", content)

    def log(self):
        """Return the messages of the browser's console since the last call."""
        return [
            entry["message"]
            for entry in self._call(
                "POST", f"{self._session}/se/log", {"type": "browser"}
            )
        ]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            self._call("DELETE", self._session)
        finally:
            # A browser that is slow to end goes with its driver.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
            self._process.stdout.close()
            self._profile.cleanup()
