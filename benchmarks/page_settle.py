"""How often a step returns before the page that it asked for is there, and what waiting for pages costs.

``python -m deskgym.benchmarks.page_settle`` follows links and sends forms of a site whose pages take their time, in
Chromium in a sandbox, and clicks what leads nowhere in between. After each step it looks for the new page's colour on
the screen, and for its heading among the accessible elements.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deskgym.benchmarks import slow_site
from deskgym.benchmarks.slow_site import PORT, color_of, delay_of
from deskgym.envs.displays.base import ElementsRequest, SettlePolicy, StepReport
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import Machine, MachineConfig
from deskgym.envs.provision.companions import Companion
from deskgym.envs.provision.services import Daemon, Ready, ServiceSpec

CHROMIUM = (
    "chromium", "--no-sandbox", "--test-type", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--password-store=basic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--force-renderer-accessibility", "--window-position=0,0", "--window-size=1280,720",
    "--disable-features=Translate,MediaRouter,OptimizationHints",
)  # fmt: skip
AT_MOST = 0.01
"""The share of steps that may return before the new page is there."""


class Browsing:
    """Chromium in a sandbox, on the slow site in a companion of it; use it as a context manager.

    Args:
        longest: seconds that a page may take.
        kind: what its pages go on doing, of ``slow_site.SCRIPTS``.
    """

    def __init__(self, longest: float = 2.0, kind: str = "") -> None:
        self.longest, self.kind, self.page = longest, kind, 1
        self.machine: Machine = create_machine("sandbox", MachineConfig((1280, 720), memory_mb=3072))
        site = ServiceSpec(
            name="site",
            files=(("/opt/site.py", Path(slow_site.__file__).read_text()),),
            daemons=(Daemon(("python3", "/opt/site.py", str(longest)), Ready(port=PORT)),),
            ports=(PORT,),
        )
        self.companion = Companion(site, create_machine("sandbox", MachineConfig(screen_size=None)))

    def __enter__(self) -> Browsing:
        machine = self.machine
        try:
            machine.start()
            self.companion.start()
            self.companion.attach(machine)
            address = f"http://127.0.0.1:{PORT}/page?n=1&kind={self.kind}"
            machine.guest.launch([*CHROMIUM, address], wait={"window": {"title": "page 1 "}}, timeout=90)
            machine.display.perform([], SettlePolicy())
            self.top = self._find_top()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.stop()
        self.companion.stop()

    def _find_top(self) -> int:
        """The row of the screen where the page begins."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            column = self.machine.display.capture()[:, 150]
            rows = [y for y in range(len(column)) if tuple(column[y]) == color_of(1)]
            if len(rows) >= 100:
                return rows[0]
            time.sleep(0.05)
        raise RuntimeError("the first page never showed")

    def click(self, place: tuple[int, int], policy: SettlePolicy, elements: bool = False) -> tuple[StepReport, float]:
        """Click a place of the page; gives the report, and the step's seconds."""
        events = [
            {"t": "move", "x": place[0], "y": place[1] + self.top}, {"t": "down", "b": 1}, {"t": "up", "b": 1},
        ]  # fmt: skip
        began = time.monotonic()
        reading = ElementsRequest(500) if elements else None
        report = self.machine.display.perform(events, policy, elements=reading)
        return report, time.monotonic() - began

    def shows(self, page: int) -> bool:
        """Whether the screen shows that page's colour now."""
        return tuple(self.machine.display.capture()[self.top + 60, 150]) == color_of(page)

    def takes(self, page: int) -> float:
        """Seconds that the server takes for that page, its redirect and its style sheet included."""
        delay = delay_of(page, self.longest)
        return delay * (1.1 + (1 / 3 if page % 5 == 0 else 0))


def measure(browsing: Browsing, navigations: int, policy: SettlePolicy, without: SettlePolicy) -> dict[str, Any]:
    """Navigate so often, and click beside; see ``main`` for what the answer holds."""
    late, unread, loading = [], 0, 0
    over: list[float] = []
    clicks: list[float] = []
    plain: list[float] = []
    for k in range(navigations):
        page = browsing.page = browsing.page + 1
        report, took = browsing.click((slow_site.LINK, slow_site.FORM)[k % 2], policy, elements=True)
        over.append(took - browsing.takes(page))
        loading += report.loading
        if not browsing.shows(page):
            late.append({"page": page, "took": round(took, 3), "serving": round(browsing.takes(page), 3)})
            end = time.monotonic() + 15
            while not browsing.shows(page) and time.monotonic() < end:
                time.sleep(0.01)
        assert report.elements is not None  # they were asked for
        texts = report.elements.texts
        unread += not any(name == f"Page {page}" for _, name, _, _ in texts)
        for samples, how in ((clicks, policy), (plain, without)):
            samples.append(browsing.click((slow_site.BOX, slow_site.BLANK)[k // 2 % 2], how)[1])
    return {
        "navigations": navigations, "late": len(late), "late_share": len(late) / navigations, "which": late,
        "heading_missing": unread, "loading": loading, "over_ms": _spread(over), "click_ms": _spread(clicks),
        "click_without_ms": _spread(plain), "load": os.getloadavg()[0],
    }  # fmt: skip


def _spread(samples: Sequence[float]) -> dict[str, float]:
    ordered = sorted(1000 * sample for sample in samples)
    return {
        "median": round(statistics.median(ordered), 1),
        "p90": round(ordered[int(0.9 * (len(ordered) - 1))], 1),
        "worst": round(ordered[-1], 1),
    }


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    started = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the share of late steps, what a navigation takes beyond the server's time, and what clicks cost."""
    parser = argparse.ArgumentParser(prog="deskgym.benchmarks.page_settle", description=__doc__)
    parser.add_argument("--navigations", type=int, default=200)
    parser.add_argument("--longest", type=float, default=2.0, help="seconds that a page may take")
    parser.add_argument("--load", type=int, default=0, help="processes that compute beside it")
    parser.add_argument("--kind", default="", choices=slow_site.SCRIPTS, help="what the pages go on doing")
    parser.add_argument("--settle", type=json.loads, default={}, help="parameters of SettlePolicy, as JSON")
    options = parser.parse_args(argv)
    policy = SettlePolicy(**options.settle)
    with busy(options.load), Browsing(options.longest, options.kind) as browsing:
        found = measure(browsing, options.navigations, policy, SettlePolicy(page_cap_ms=0))
    print(json.dumps(found, indent=1))
    return int(found["late_share"] > AT_MOST)


if __name__ == "__main__":
    sys.exit(main())
