"""The tables of ``machines``, for the terminal and for the page between its markers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskgym.benchmarks.machines_measure import WHAT
from deskgym.benchmarks.report import table
from deskgym.benchmarks.rows import number
from deskgym.benchmarks.targets import COLUMNS

BEGIN, END = "<!-- machines -->", "<!-- /machines -->"
ENOUGH = 30  # resets; with fewer, a run is called preliminary
FEW = 10  # samples: with fewer, the worst is in the table but no percentiles


def columns(data: Mapping[str, Any]) -> list[str]:
    """The kinds that something was measured of."""
    measured = {row["key"].rpartition(f"/{key}")[0] for row in data["rows"] for key in WHAT}
    return [name for name in data["kinds"] if name in measured]


def kinds_table(data: Mapping[str, Any]) -> list[list[str]]:
    """A line for each thing that was measured, a cell for each kind."""
    rows = {row["key"]: row for row in data["rows"]}
    found = []
    for key, what in WHAT.items():
        cells = [cell(rows.get(f"{name}/{key}")) for name in columns(data)]
        if any(cells):
            found.append([what, *cells])
    runs = data["facts"].get("episodes", {})
    if runs:
        found.append(["of these: faults, counts that grew", *(_run(runs.get(name)) for name in columns(data))])
    return found


def _run(run: Mapping[str, Any] | None) -> str:
    return "" if run is None else f"{run['stats'].get('faults', 0)}, {len(run['leaks'])} of {run['count']}"


def cell(row: Mapping[str, Any] | None) -> str:
    """A row's median, its 10th to 90th percentile where there are enough samples, and the worst."""
    if row is None:
        return ""
    unit, scale = row["unit"], 1.0
    if unit == "ms" and row["median"] >= 1000:
        unit, scale = "s", 1000.0

    def text(key: str) -> str:
        return number(row[key] / scale)

    if row["n"] == 1:
        return f"{text('median')} {unit}"
    if row["n"] < FEW:
        return f"{text('median')} {unit} ({text('min')}–{text('max')})"
    return f"{text('median')} {unit} ({text('p10')}–{text('p90')}, worst {text('max')})"


def notes(data: Mapping[str, Any]) -> list[str]:
    """What the probe found, and what could not be measured and why."""
    lines = []
    probe = data["facts"].get("probe")
    if probe:
        times = [
            f"{name}: boots a kernel in {seconds:.1f} s"
            if seconds is not None
            else f"{name}: {probe['said'].get(name)}"
            for name, seconds in probe["seconds"].items()
        ]
        lines.append(f"accelerators of this host: {'; '.join(times)}")
    lines += [f"not measured: {name}: {why}" for name, why in data["skipped"].items()]
    return [" ".join(line.split()) for line in lines]


def render(data: Mapping[str, Any]) -> str:
    """The block between the page's markers."""
    host, took = data["host"], data["load"]
    width, height = data["screen_size"]
    parts = [
        f"Measured on {data['time']} at {width}×{height}, on {host['cores']} cores of {host['cpu']} with "
        f"{host['memory_gb']} GB, {host['system']}, Linux {host['kernel']}; load average {took['before']:g} before and "
        f"{took['after']:g} after. Medians; in brackets the 10th to 90th percentile and the worst, of fewer than {FEW} "
        f"samples the least and the most.{_short(data)}\n",
        table(("", *columns(data)), kinds_table(data)),
    ]
    parts.append(table(COLUMNS, [target["cells"] for target in data["targets"]]))
    parts += [f"- {line}" for line in notes(data)]
    return "\n".join(parts)


def _short(data: Mapping[str, Any]) -> str:
    resets = [row["n"] for row in data["rows"] if row["key"].endswith("/reset/screenshot")]
    return "" if min(resets, default=0) >= ENOUGH else " This was a short, preliminary run."


def write_into(page: Path, data: Mapping[str, Any]) -> None:
    """Put the tables between a page's markers, in place of what is there.

    Raises:
        ValueError: the page has no such markers.
        OSError: it cannot be read or written.
    """
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for the tables: put {BEGIN} and {END} into it, a line each")
    page.write_text(f"{before}{BEGIN}\n{render(data)}\n{END}{after}")
