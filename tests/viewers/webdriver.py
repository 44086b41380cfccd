# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""As much of W3C WebDriver as a test needs, over Debian's chromedriver."""

import json
import re
import subprocess
import urllib.request

from missing import installed, program

FOREVER_MS = 10 ** 9


class Browser:
    """Headless Chromium, as a context."""

    def __init__(self, folder):
        self.folder = folder
        self.chromium = program("chromium",
                                there=installed("chromium"))
        self.driver = program("chromedriver",
                              there=installed("chromium-driver"))
        self.process = self.base = self.session = None

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.driver, "--port=0"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            encoding="utf-8", cwd=self.folder)
        for line in self.process.stdout:
            port = re.search(r"started successfully on port (\d+)", line)
            if port:
                break
        else:
            raise OSError("chromedriver did not start")
        self.base = "http://127.0.0.1:%s/session" % port.group(1)
        # A root's browser has no sandbox; containers have a small /dev/shm.
        options = {"binary": self.chromium, "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--allow-file-access-from-files",
            "--user-data-dir=" + self.folder + "/chromium"]}
        self.session = self.ask("", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "timeouts": {
                "script": FOREVER_MS, "pageLoad": FOREVER_MS}}}})["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.ask("/" + self.session, method="DELETE")
        finally:
            self.process.terminate()
            self.process.wait()
            self.process.stdout.close()

    def ask(self, path, body=None, method="POST"):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]

    def check(self):
        """Whether there is still who would answer."""
        if self.process.poll() is not None:
            raise OSError("chromedriver ended")

    def go(self, url):
        self.ask("/%s/url" % self.session, {"url": url})

    def script(self, text):
        return self.ask("/%s/execute/sync" % self.session,
                        {"script": text, "args": []})

    def script_async(self, text):
        return self.ask("/%s/execute/async" % self.session,
                        {"script": text, "args": []})
