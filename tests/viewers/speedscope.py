# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""speedscope from npm in headless Chromium: it opens a file as its command
does, and is then made to save what it has loaded, which is read."""

import base64
import json
import os

from missing import npm
from patience import tries
from webdriver import Browser

MS = {"nanoseconds": 10 ** 6, "microseconds": 1000}

# What the key for saving gives to the browser, or what the page says instead.
SAVE = """
const done = arguments[arguments.length - 1];
const made = URL.createObjectURL;
URL.createObjectURL = blob => { blob.text().then(done); return made(blob); };
window.dispatchEvent(new KeyboardEvent("keydown",
    {key: "s", keyCode: 83, ctrlKey: true, metaKey: true}));
"""
TEXT = "return document.body ? document.body.innerText : ''"


def opener(path, folder):
    """As speedscope's command does it: a script that hands over the file."""
    script = os.path.join(folder, "opener.js")
    with open(path, "rb") as profile, open(script, "w",
                                           encoding="ascii") as out:
        out.write("speedscope.loadFileFromBase64(%s, %s)" % (
            json.dumps(os.path.basename(path)),
            json.dumps(base64.b64encode(profile.read()).decode())))
    page = os.path.join(npm("speedscope"), "dist", "release", "index.html")
    return "file://%s#localProfilePath=%s" % (page, script)


def saved(path, folder):
    with Browser(folder) as browser:
        browser.go(opener(path, folder))
        for _ in tries("speedscope's loading"):
            browser.check()
            text = browser.script(TEXT)
            if "Something went wrong" in text:
                raise ValueError("speedscope: " + text)
            if "Sandwich" in text: # one of its views
                return json.loads(browser.script_async(SAVE))


def stacks(path, folder):
    group = saved(path, folder)
    names = [frame["name"] for frame in group["shared"]["frames"]]
    for profile in group["profiles"]:
        ms = MS[profile["unit"]]
        if profile["type"] == "evented":
            yield from of_events(profile["events"], names, ms)
        else:
            for sample, took in zip(profile["samples"], profile["weights"]):
                yield [names[i] for i in sample], took / ms


def of_events(events, names, ms):
    """How long each stack was there, in milliseconds."""
    stack, since = [], 0
    for event in events:
        if event["at"] > since:
            yield list(stack), (event["at"] - since) / ms
            since = event["at"]
        if event["type"] == "O":
            stack.append(names[event["frame"]])
        else:
            stack.pop()
