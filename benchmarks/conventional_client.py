"""The conventional step loop's client side: run inside the machine, because the machine has a network of its own.

Reads a job as JSON from standard input: ``{port, python, actions: [code, ...], sleep, tree, pause}``, prints the time
of each step in ms as a JSON list.
"""

import json
import sys
import time
import urllib.request
import xml.etree.ElementTree as ElementTree
from io import BytesIO

from PIL import Image


def fetch(url, body=None):
    """One HTTP round trip."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"} if body else {})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.read()


def main():
    """Carry out the job."""
    job = json.load(sys.stdin)
    base = f"http://127.0.0.1:{job['port']}"
    times = []
    for code in job["actions"]:
        start = time.perf_counter()
        prefix = f"import pyautogui; import time; pyautogui.FAILSAFE = False; {job['pause']}"
        command = [job["python"], "-c", f"{prefix}; {code}"]
        done = json.loads(fetch(f"{base}/execute", json.dumps({"command": command}).encode()))
        if done["returncode"]:
            sys.exit(f"the action {code!r} failed: {done['error']}")
        time.sleep(job["sleep"])
        Image.open(BytesIO(fetch(f"{base}/screenshot"))).convert("RGB").load()
        if job["tree"]:
            ElementTree.fromstring(fetch(f"{base}/accessibility"))
        times.append((time.perf_counter() - start) * 1000)
    print(json.dumps(times))


main()
