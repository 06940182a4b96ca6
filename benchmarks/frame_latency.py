"""How long a frame takes: from shared memory and over VNC; in full, after a small change, and unchanged.

Run it with ``python -m deskgym.benchmarks.frame_latency``; ``--sources all`` has that of virtual machines too. What is
timed ends with the frame as an RGB array.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from deskgym.benchmarks.frame_sources import QemuMemory, SharedMemory, Source, Xvnc, XvncHextile

SOURCES: dict[str, type[Source]] = {
    "shared": SharedMemory,
    "xvnc": Xvnc,
    "xvnc-hextile": XvncHextile,
    "qemu": QemuMemory,
}

BESIDE = ["shared", "xvnc", "xvnc-hextile"]
"""What is measured by default: ``qemu`` needs QEMU and an image."""

KINDS = ("full", "pointer moved", "drawn", "unchanged")


def measure(source: Source, count: int) -> dict[str, list[float]]:
    """Ms per frame, ``count`` of each kind; the kinds take turns, so that all see the same load."""

    def timed(get: Callable[[], Any]) -> float:
        began = time.perf_counter()
        get()
        return (time.perf_counter() - began) * 1000

    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(count):
        taken["full"].append(timed(source.full))
        taken["pointer moved"].append(source.changed(source.move))
        taken["drawn"].append(source.changed(source.draw))
        taken["unchanged"].append(timed(source.frame))
    return taken


def main(argv: list[str] | None = None) -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", nargs="+", default=BESIDE, choices=[*SOURCES, "all"], metavar="SOURCE")
    parser.add_argument("--size", nargs=2, type=int, default=(1920, 1080), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--count", type=int, default=100, help="frames of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    results = {}
    for name in SOURCES if "all" in options.sources else options.sources:
        source = SOURCES[name]()
        try:
            source.open(tuple(options.size))
            measure(source, 3)
            results[name] = measure(source, options.count)
        finally:
            source.close()
    if options.json:
        json.dump({"size": options.size, "count": options.count, "ms": results}, sys.stdout)
        print()
        return 0
    table = Table("source", "frame", "median ms", "90 % below", "worst", title="{}x{}".format(*options.size))
    for name, kinds in results.items():
        for kind, values in kinds.items():
            row = (statistics.median(values), np.quantile(values, 0.9), max(values))
            table.add_row(name, kind, *(f"{value:.2f}" for value in row))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
