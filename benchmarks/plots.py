"""The plots of a benchmark run, one for each part that has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from deskgym.benchmarks.rows import number

OURS, THEIRS, LIGHT = "#2a6fbb", "#c8573a", "#9bbfe3"
PHASE_COLORS = {
    "input": "#8c6bb1", "code": "#d9a441", "settle": "#2a6fbb", "elements": "#5aa469", "frame": "#c8573a",
    "rest": "#999999",
}  # fmt: skip


def draw(data: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw what the data has into ``folder``; returns the files, ``step.png`` and so on.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    paths = []
    for name, plot in PLOTS.items():
        part = data["parts"].get(name)
        if part is None or "error" in part["facts"]:
            continue
        figure = pyplot.figure(figsize=(8, 3.6), layout="constrained")
        try:
            if plot(part, {row["key"]: row for row in part["rows"]}, figure):
                path = folder / f"{name}.png"
                figure.savefig(path, dpi=120)
                paths.append(path)
        finally:
            pyplot.close(figure)
    return paths


def _steps(part: Any, rows: Any, figure: Any) -> bool:
    """Stacked bars: where each kind of step spends its time."""
    axis = figure.subplots()
    breakdown = part["facts"]["breakdown"]
    left = [0.0] * len(breakdown)
    for phase, color in PHASE_COLORS.items():
        widths = [found[phase] for found in breakdown.values()]
        axis.barh(range(len(breakdown)), widths, left=left, color=color, label=phase)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axis.set_yticks(range(len(breakdown)), list(breakdown), fontsize=8)
    axis.invert_yaxis()
    axis.legend(fontsize=8, ncols=6, loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False)
    return _finish(axis, "ms of a settled step, by phase (medians)")


def _resets(part: Any, rows: Any, figure: Any) -> bool:
    """Bars: the three kinds of reset."""
    axis = figure.subplots()
    keys = [key for key in ("reset/cold", "reset/again", "reset/pooled") if key in rows]
    for place, key in enumerate(keys):
        _bar(axis, place, rows[key], OURS if key == "reset/pooled" else LIGHT)
    axis.set_yticks(range(len(keys)), ["no machine yet", "after an episode", "with a pool"][: len(keys)])
    axis.invert_yaxis()
    _log(axis)
    return _finish(axis, "ms of a reset, as the caller sees it (logarithmic; line: 5th to 95th percentile)")


def _vectors(part: Any, rows: Any, figure: Any) -> bool:
    """Throughput against N, and episodes per minute."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    counts = part["facts"]["counts"]
    found = [rows[f"vector/{count}"] for count in counts]
    medians = [row["median"] for row in found]
    errors = [[row["median"] - row["p5"] for row in found], [row["p95"] - row["median"] for row in found]]
    left.errorbar(counts, medians, errors, color=OURS, marker="o", capsize=3, label="send/recv")
    left.plot(counts, [medians[0] * count for count in counts], color="#999999", ls=":", label="N times one")
    lockstep = rows[f"vector/{counts[-1]}/lockstep"]["median"]
    left.plot(counts[-1], lockstep, "s", color=THEIRS, label="lockstep")
    left.set_xticks(counts)
    left.set_ylim(0, max(medians) * 1.3)
    left.set_xlabel("environments")
    left.set_title("settled steps/s", loc="left", fontsize=9)
    left.legend(fontsize=8, frameon=False)
    names = {"episodes/ours": "deskgym, pool", "episodes/lockstep": "AsyncVectorEnv"}
    shown = [key for key in names if key in rows]
    for place, key in enumerate(shown):
        _bar(right, place, rows[key], OURS if place == 0 else THEIRS)
    right.set_yticks(range(len(shown)), [names[key] for key in shown], fontsize=8)
    right.invert_yaxis()
    left.spines[["top", "right"]].set_visible(False)
    return _finish(right, "episodes/min, resets included")


def _density(part: Any, rows: Any, figure: Any) -> bool:
    """Memory against the number of idle desktops, and how fast each answers."""
    curve = part["facts"]["curve_mb"]
    if not curve:
        return False
    left, right = figure.subplots(1, 2)
    left.plot([count for count, _ in curve], [mb / 1024 for _, mb in curve], color=OURS, marker=".")
    left.set_xlabel("idle desktops")
    left.set_title("GiB of the host's memory", loc="left", fontsize=9)
    left.set_ylim(0)
    left.spines[["top", "right"]].set_visible(False)
    for key, color, label in (("density/step", OURS, "one at a time"), ("density/step/all", THEIRS, "all at once")):
        samples = sorted(rows[key]["samples"])
        right.plot(samples, [(k + 1) / len(samples) for k in range(len(samples))], color=color, label=label)
    _log(right)
    right.set_xlabel("ms")
    right.legend(fontsize=8, frameon=False)
    return _finish(right, "share of the desktops that have answered a step")


def _peers(part: Any, rows: Any, figure: Any) -> bool:
    """Bars: one step in each loop."""
    axis = figure.subplots()
    bars = []
    for name in part["facts"]["programs"][:1]:
        for view in ("screenshot", "screenshot + a11y"):
            bars.append((f"deskgym, {view}", rows[f"{name}/step/{view}"], OURS))
            bars += [
                (f"conventional, {view}, {sleep}", rows[f"{name}/conventional/{view}, {sleep}"], THEIRS)
                for sleep in ("no sleep", "0.5 s sleep")
            ]
    if "miniwob/reset" in rows:
        bars.append(("MiniWoB++, click, screenshot + DOM", rows["miniwob/theirs/click"], "#d9a441"))
        bars.append(("deskgym, click, screenshot + elements", rows["miniwob/ours/click"], OURS))
    for place, (_, row, color) in enumerate(bars):
        _bar(axis, place, row, color)
    axis.set_yticks(range(len(bars)), [label for label, *_ in bars], fontsize=8)
    axis.invert_yaxis()
    _log(axis)
    return bool(bars) and _finish(axis, "ms of one step (logarithmic; line: 5th to 95th percentile)")


def _log(axis: Any) -> None:
    """A logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _bar(axis: Any, place: int, row: Mapping[str, Any], color: str) -> None:
    line = [[row["median"] - row["p5"]], [row["p95"] - row["median"]]]
    axis.barh(place, row["median"], color=color, xerr=line, error_kw={"ecolor": "#333333", "lw": 1})
    axis.annotate(f" {number(row['median'])}", (row["p95"], place), va="center", fontsize=8)


def _finish(axis: Any, title: str) -> bool:
    axis.set_title(title, loc="left", fontsize=9, pad=18 if axis.get_legend() and "phase" in title else None)
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(x=0.12)
    return True


PLOTS: Mapping[str, Callable[[Any, Any, Any], bool]] = {
    "step": _steps, "reset": _resets, "vector": _vectors, "density": _density, "peers": _peers,
}  # fmt: skip
