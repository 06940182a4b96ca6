"""The conventional step loop's client side: run inside the machine, because the machine has a network of its own.

Reads a job as JSON from standard input, ``{port, python, actions: [code, ...], pause, sleep, tree}`` with
``tree`` one of "full", "lean" and null, and prints the phases of each step in ms as a JSON list of ``{action, sleep,
screenshot, decode, tree, total}``. It stays alive from step to step, as the published systems' clients do.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from io import BytesIO
from typing import Any

TIMEOUT = 120.0
BOOT_TIMEOUT = 20.0


def fetch(url: str, body: dict[str, Any] | None = None) -> bytes:
    """One HTTP round trip."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        content: bytes = answer.read()
    return content


def wait_for(url: str) -> None:
    """Wait until the server answers: it is a program that was just started."""
    end = time.monotonic() + BOOT_TIMEOUT
    while True:
        try:
            fetch(url)
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def step(base: str, job: dict[str, Any], code: str) -> dict[str, float]:
    """Act, sleep, observe; what each part took in ms."""
    from PIL import Image

    times = [time.perf_counter()]
    prefix = f"import pyautogui; import time; pyautogui.FAILSAFE = False; {job['pause']}"
    done = json.loads(fetch(f"{base}/execute", {"command": [job["python"], "-c", f"{prefix}; {code}"]}))
    if done["returncode"]:
        sys.exit(f"the action {code!r} failed: {done['error']}")
    times.append(time.perf_counter())
    time.sleep(job["sleep"])
    times.append(time.perf_counter())
    png = fetch(f"{base}/screenshot")
    times.append(time.perf_counter())
    Image.open(BytesIO(png)).convert("RGB").load()
    times.append(time.perf_counter())
    if job["tree"]:
        fetch(f"{base}/accessibility{'?lean' * (job['tree'] == 'lean')}").decode()
    times.append(time.perf_counter())
    phases = {
        name: (after - before) * 1000
        for name, before, after in zip(
            ("action", "sleep", "screenshot", "decode", "tree"), times, times[1:], strict=False
        )
    }
    return {**phases, "total": (times[-1] - times[0]) * 1000}


def main() -> None:
    """Carry out the job on standard input."""
    job = json.load(sys.stdin)
    base = f"http://127.0.0.1:{job['port']}"
    wait_for(f"{base}/ready")
    print(json.dumps([step(base, job, code) for code in job["actions"]]))


if __name__ == "__main__":
    main()
