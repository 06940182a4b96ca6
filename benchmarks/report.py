"""Writes a run down: a table for people in Markdown, a chart, and the data in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deskgym.benchmarks.desks import PROGRAMS
from deskgym.benchmarks.rows import number, spread
from deskgym.benchmarks.targets import COLUMNS

OURS, THEIRS = "#2a6fbb", "#c8573a"


def write_report(data: dict[str, Any], folder: Path) -> list[Path]:
    """Write ``step_loop.json``, ``step_loop.md`` and, where Matplotlib is installed, ``step_loop.png``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"step_loop.{suffix}" for suffix in ("json", "md", "png")]
    paths[0].write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    paths[1].write_text(markdown(data))
    try:
        draw_chart(data, paths[2])
    except ImportError:
        paths.pop()
    return paths


def markdown(data: dict[str, Any]) -> str:
    """The tables of a run."""
    host = data["host"]
    width, height = data["options"]["screen_size"]
    memory = data["memory"]
    parts = [
        f"Measured at {width}×{height} on {host['cores']} cores of {host['cpu']} with {host['memory_gb']} GB, "
        f"{host['system']}, Linux {host['kernel']}, "
        f"load {data['load']['before'][0]} before and {data['load']['after'][0]} after. "
        "Times are medians; in brackets the 10th–90th percentile.\n",
        table(COLUMNS, [target["cells"] for target in data["targets"]]),
        table(LOOP_COLUMNS, loop_cells(data["rows"], data["options"]["programs"])),
        "Where a step of deskgym spends its time, in ms:\n",
        phase_table(data["breakdown"]),
        "Where a conventional step does:\n",
        phase_table(data["conventional_breakdown"]),
        "Whether a frame was the last one:\n",
        table(
            ("program", "quiet window", "median step", "steps", "the screen changed later"),
            [
                [PROGRAMS[s["program"]].title, _ms(s["quiet_ms"]), _ms(s["median_ms"]), s["steps"], s["late"]]
                for s in data["settling"]
            ],
        ),
        f"Memory of an idle desktop of {memory['screen_size'][0]}×{memory['screen_size'][1]}; beside it one supervisor "
        f"for all sandboxes of a process takes {memory['supervisor_pss']} MB:\n",
        table(
            ("process", "PSS, MB", "private, MB"),
            [[p["name"], p["pss"], p["private"]] for p in memory["processes"]]
            + [["all", memory["pss"], memory["private"]]],
        ),
        "All rows:\n",
        table(
            ("what", "median", "10th–90th percentile", "n"),
            [[r["what"], _ms(r["median"]), spread(r), r["n"]] for r in data["rows"]],
        ),
    ]
    return "\n".join(parts)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


LOOP_COLUMNS = ("one step", "deskgym", "conventional, 0.5 s sleep", "conventional, no sleep")


def loop_cells(rows: Sequence[Mapping[str, Any]], programs: Sequence[str], percent: int = 10) -> list[list[str]]:
    """A line for each program and view: our step, and the conventional ones with how many times they take.

    Args:
        rows: their JSON, as ``step_loop.compare_loops`` made them.
        programs: keys of ``PROGRAMS``.
        percent: of the spread, see ``rows.spread``.
    """
    by_key = {row["key"]: row for row in rows}
    lines = []
    for name in programs:
        for view in ("screenshot", "screenshot + a11y"):
            ours = by_key[f"{name}/step/{view}"]
            cells = [f"{PROGRAMS[name].title}, {view}", f"{_ms(ours['median'])} ({spread(ours, percent)})"]
            for sleep in ("0.5 s sleep", "no sleep"):
                theirs = by_key[f"{name}/conventional/{view}, {sleep}"]
                times = theirs["median"] / ours["median"]
                cells.append(f"{_ms(theirs['median'])} ({spread(theirs, percent)}), **{times:.1f}×**")
            lines.append(cells)
    return lines


def phase_table(breakdown: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """A line for each, with the medians of its phases in ms."""
    phases = list(next(iter(breakdown.values()), {}))
    lines = [[what, *(f"{found[phase]['median']:.1f}" for phase in phases)] for what, found in breakdown.items()]
    return table(("", *phases), lines)


def _ms(value: float) -> str:
    return f"{number(value)} ms"


def draw_chart(data: dict[str, Any], path: Path) -> None:
    """Bars of a step's median time in both loops, on a logarithmic scale, with the 10th to 90th percentile.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    by_key = {row["key"]: row for row in data["rows"]}
    programs = data["options"]["programs"]
    figure, axes = plt.subplots(
        len(programs), 1, figsize=(9, 0.6 + 2.7 * len(programs)), sharex=True, squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[:, 0], programs, strict=True):
        bars = []
        for view in ("screenshot", "screenshot + a11y"):
            ours = by_key[f"{name}/step/{view}"]
            bars.append((f"deskgym, {view}", ours, OURS, ""))
            for sleep in ("no sleep", "0.5 s sleep"):
                row = by_key[f"{name}/conventional/{view}, {sleep}"]
                bars.append((f"conventional, {view}, {sleep}", row, THEIRS, f"  {row['median'] / ours['median']:.1f}×"))
        for place, (_, row, color, times) in enumerate(bars):
            line = [[row["median"] - row["p10"]], [row["p90"] - row["median"]]]
            axis.barh(place, row["median"], color=color, xerr=line, error_kw={"ecolor": "#333333", "lw": 1})
            axis.text(row["p90"] * 1.06, place, f"{_ms(row['median'])}{times}", va="center", fontsize=9)
        axis.set_yticks(range(len(bars)), [label for label, *_ in bars], fontsize=9)
        axis.invert_yaxis()
        axis.set_title(f"{PROGRAMS[name].title}: one step (click, key, typing)", loc="left", fontsize=10)
        axis.set_xscale("log")
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    longest = max(row["p90"] for key, row in by_key.items() if "/conventional/" in key)
    axes[-1, 0].set_xlim(8, longest * 3.5)
    ticks = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
    axes[-1, 0].set_xticks(ticks, [str(tick) for tick in ticks])
    axes[-1, 0].minorticks_off()
    for axis in axes[:, 0]:
        axis.grid(axis="x", which="major", color="#dddddd")
    figure.supxlabel("ms, logarithmic. Bar: median; line: 10th to 90th percentile; ×: times deskgym's step", fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)
