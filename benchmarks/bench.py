"""``deskgym bench``: runs the parts, keeps what they found, and writes it down as JSON, plots and a page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from deskgym.benchmarks.host import describe_host, load, warn_if_busy
from deskgym.benchmarks.measure import Part
from deskgym.envs.errors import near

FORMAT = 2  # of the JSON
PARTS = {
    "startup": "deskgym.benchmarks.startup",
    "step": "deskgym.benchmarks.steps",
    "reset": "deskgym.benchmarks.resets",
    "vector": "deskgym.benchmarks.vectors",
    "density": "deskgym.benchmarks.density",
    "programs": "deskgym.benchmarks.programs",
    "peers": "deskgym.benchmarks.peers",
}
"""The parts, in the order in which they run, and the module whose ``measure(part)`` does it."""


def check_parts(names: Sequence[str]) -> list[str]:
    """The parts that were asked for, in the order in which they run; all if none was named.

    Raises:
        ValueError: there is no such part.
    """
    for name in names:
        if name not in PARTS:
            raise ValueError(f"bench has no part {name!r}; legal are {', '.join(PARTS)}{near(name, PARTS)}")
    return [name for name in PARTS if name in names or not names]


def measure(
    names: Sequence[str],
    *,
    quick: bool = False,
    desktops: int = 128,
    tell: Callable[[str], None] = lambda what: None,
    keep: Callable[[dict[str, Any]], None] = lambda data: None,
) -> dict[str, Any]:
    """Run parts, one after the other; one that fails is noted with its error, and the others go on.

    Args:
        names: keys of ``PARTS``.
        quick: measure little.
        desktops: the most desktops to have alive at once.
        tell: is told what is done now.
        keep: is given the data after each part.

    Returns:
        JSON: ``parts`` by name, each with ``rows``, ``targets``, ``facts`` and ``skipped``, and what it ran on.
    """
    began = time.time()
    data: dict[str, Any] = {
        "format": FORMAT,
        "quick": quick,
        "time": time.strftime("%Y-%m-%d %H:%M", time.gmtime(began)) + " UTC",
        "host": describe_host(),
        "load": {"before": load(), "busy": warn_if_busy()},
        "parts": {},
    }
    for name in names:
        part = Part(quick, desktops, tell)
        try:
            with part.watched():
                import_module(PARTS[name]).measure(part)
        except Exception as error:  # a part's failure must not cost what the others measured
            part.facts["error"] = f"{type(error).__name__}: {error}"
        data["parts"][name] = part.to_dict()
        data |= {"seconds": round(time.time() - began, 1), "load": data["load"] | {"after": load()}}
        keep(data)
    return data


def check_folder(path: Path) -> None:
    """Make a folder if it is not there, and see that files can be written to it.

    Raises:
        ValueError: they cannot.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".bench"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"cannot write to {path}: {error.strerror or error}; name another folder") from error


def check_plots() -> None:
    """See that plots can be drawn.

    Raises:
        ValueError: Matplotlib is missing.
    """
    try:
        import_module("matplotlib")
    except ImportError as error:
        raise ValueError(
            "--out and --write-docs draw plots with matplotlib, which is missing: pip install 'deskgym[plot]', or "
            "leave them out and use --json"
        ) from error


def write_json(data: dict[str, Any], folder: Path) -> Path:
    """Write ``bench.json`` there."""
    path = folder / "bench.json"
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    return path


def read_json(path: Path) -> dict[str, Any]:
    """What ``write_json`` wrote.

    Raises:
        ValueError: the file is not there, or is none.
    """
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(
            f"cannot read {path}: {error}; legal is the bench.json that deskgym bench --out wrote"
        ) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{path} is no bench.json of this version (format {FORMAT}): measure again")
    return data


def write_out(data: dict[str, Any], folder: Path) -> list[Path]:
    """Write the JSON and the plots into a folder."""
    from deskgym.benchmarks.plots import draw

    return [write_json(data, folder), *draw(data, folder)]


def write_docs(data: dict[str, Any], page: Path) -> list[Path]:
    """Write the page, with its plots and its data in a folder of its name beside it."""
    from deskgym.benchmarks.page import render
    from deskgym.benchmarks.plots import draw

    folder = page.with_suffix("")
    check_folder(folder)
    images = draw(data, folder)
    page.write_text(render(data, folder.name, [image.stem for image in images]))
    return [page, *images, write_json(data, folder)]
