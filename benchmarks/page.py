"""``docs/benchmarks.md``: the page that ``deskgym bench --write-docs`` writes from a run's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deskgym.benchmarks.page_texts import CONVENTIONAL, INTRODUCTION, PARTS
from deskgym.benchmarks.report import LOOP_COLUMNS, loop_cells, phase_table, table
from deskgym.benchmarks.rows import number, spread

ROW_COLUMNS = ("what", "median", "5–95 %", "n")


def render(data: Mapping[str, Any], folder: str, plots: Sequence[str]) -> str:
    """The page.

    Args:
        data: what ``bench.measure`` returned.
        folder: where the plots are, from the page.
        plots: names of the plots that were drawn.
    """
    parts = data["parts"]
    title = "Benchmarks" if len(parts) > 1 else f"Benchmarks: {PARTS[next(iter(parts))][0].lower()}"
    blocks = [INTRODUCTION.format(folder=folder, title=title), _where(data)]
    targets = [target["cells"] for part in parts.values() for target in part["targets"]]
    if targets:
        blocks.append(
            "## What was to be reached\n\n" + table(("what", "target", "measured (median)", "verdict"), targets)
        )
    for name, part in parts.items():
        blocks.append(_section(name, part, [f"{folder}/{plot}.png" for plot in plots if plot == name]))
    if "peers" in parts:
        blocks.append(CONVENTIONAL)
    return "\n".join(block.rstrip() + "\n" for block in blocks)


def row_cells(rows: Sequence[Mapping[str, Any]]) -> list[list[object]]:
    """A line for each row: what, median with its unit, spread, how many."""
    return [
        [row["what"], f"{number(row['median'])} {row['unit']}", spread(row, 5) if row["n"] > 1 else "", row["n"]]
        for row in rows
    ]


def _where(data: Mapping[str, Any]) -> str:
    host, took = data["host"], data["load"]
    versions = {**host["packages"], **{name: version for name, version in host["libraries"].items() if version}}
    busy = f"**{took['busy']}**\n\n" if took.get("busy") else ""
    short = " This was a quick run: it says that all works, not how fast." if data["quick"] else ""
    return busy + (
        f"Measured on {data['time']} in {data['seconds'] / 60:.0f} min, on {host['cores']} cores of {host['cpu']} with "
        f"{host['memory_gb']} GB, {host['system']}, Linux {host['kernel']}, as {host['user']}, "
        f"deskgym {host['deskgym']}, Python {host['python']}; load average (1 min) {took['before'][0]} before and "
        f"{took['after'][0]} after.{short}\n\n"
        "<details><summary>versions</summary>\n\n"
        + table(("package", "version"), sorted(versions.items()))
        + "\n</details>\n"
    )


def _section(name: str, part: Mapping[str, Any], images: Sequence[str]) -> str:
    facts = part["facts"]
    title, text = PARTS[name]
    before, after = facts["load"]
    blocks = [f"## {title}\n\n{text.strip()}\n"]
    blocks += [f"![{title}]({image})\n" for image in images]
    if "error" in facts:
        blocks.append(f"**This part failed:** `{facts['error']}`\n")
    blocks += [f"Not measured here: {what}: {reason}.\n" for what, reason in part["skipped"].items()]
    if name in _EXTRA and "error" not in facts:
        blocks += _EXTRA[name](part)
    if part["rows"]:
        blocks.append(table(ROW_COLUMNS, row_cells(part["rows"])))
    blocks.append(f"{facts['seconds']:.0f} s; load {before} before, {after} after.\n")
    return "\n".join(blocks)


def _steps(part: Mapping[str, Any]) -> list[str]:
    breakdown = part["facts"]["breakdown"]
    phases = list(next(iter(breakdown.values())))
    rows = {row["key"]: row["median"] for row in part["rows"]}
    lines = []
    for name, found in breakdown.items():
        key = name.replace(", ", "/", 1)
        times = [number(found[phase]) for phase in phases]
        lines.append([name, number(rows[f"step/{key}"]), *times])
    processor = part["facts"]["processor"]
    names = list(next(iter(processor.values())))[:5]
    return [
        "Where the time of a step goes: the whole and its phases, medians in ms.\n",
        table(("step", "whole", *phases), lines),
        "And the processor's time, by process, means in ms; what is beyond the whole above ran meanwhile on another "
        "core, or after the step.\n",
        table(
            ("step", "all", *names),
            [
                [name, number(sum(used.values())), *(number(used.get(process, 0.0)) for process in names)]
                for name, used in processor.items()
            ],
        ),
        f"KAlgebra shows {part['facts']['elements']['elements']} accessible elements here.\n",
    ]


def _resets(part: Mapping[str, Any]) -> list[str]:
    stats = ", ".join(f"{name} {count}" for name, count in part["facts"]["stats"].items() if count)
    return [f"The pool's counters after it: {stats}.\n"]


def _density(part: Mapping[str, Any]) -> list[str]:
    facts = part["facts"]
    rows = {row["key"]: row["median"] for row in part["rows"]}
    lines = []
    for what, prefix in (("idle", "density"), (f"at work, a step every {facts['pace']:g} s", "density/work")):
        memory, pss, share = (rows[f"{prefix}/{key}"] for key in ("memory", "pss", "cpu"))
        per_core = number(100 / share) if share > 0 else "more than can be told"
        cells = [f"{number(memory)} MiB", f"{number(pss)} MiB", number(1024 / max(memory, pss)), per_core]
        lines.append([what, *cells, f"{number(share)} % of a core"])
    one = facts["one"]
    return [
        f"{facts['alive']} of {facts['started']} idle desktops were alive at the end.\n",
        table(("desktops", "the host's memory", "PSS", "per GiB", "per core", "processor"), lines),
        f"One desktop alone, by process; its proportional memory (PSS) is {one['pss']} MiB:\n",
        table(("process", "PSS, MiB", "private, MiB"), [[p["name"], p["pss"], p["private"]] for p in one["processes"]]),
    ]


def _programs(part: Mapping[str, Any]) -> list[str]:
    facts = part["facts"]
    lines = [
        [name, facts["elements"][name], f"{number(times)} times"] for name, times in facts.get("slower", {}).items()
    ]
    return [table(("program", "elements shown", f"a reset on the spot with {facts['slept']:g} s of sleep"), lines)]


def _peers(part: Mapping[str, Any]) -> list[str]:
    rows = {row["key"]: row for row in part["rows"]}
    blocks = []
    if "miniwob/reset" in rows:
        lines = [["a new environment", _time(rows, "miniwob/start"), ""]]
        for kind in ("click", "type"):
            lines.append([f"{kind} step", _time(rows, f"miniwob/theirs/{kind}"), _time(rows, f"miniwob/ours/{kind}")])
        lines.append(["reset", _time(rows, "miniwob/reset"), ""])
        blocks.append(table(("", "MiniWoB++, 160×210 of a web page", "deskgym, KAlgebra at 1280×720"), lines))
    if programs := part["facts"]["programs"]:
        blocks.append(table(LOOP_COLUMNS, loop_cells(part["rows"], programs, 5)))
        blocks.append("Where a conventional step spends its time, medians in ms:\n")
        blocks.append(phase_table(part["facts"]["conventional_breakdown"]))
    return blocks


def _time(rows: Mapping[str, Mapping[str, Any]], key: str) -> str:
    row = rows[key]
    return f"{number(row['median'])} ms" + (f" ({spread(row, 5)})" if row["n"] > 1 else "")


_EXTRA: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "step": _steps, "reset": _resets, "density": _density, "programs": _programs, "peers": _peers,
}  # fmt: skip
