"""The plots of a benchmark run, one for each part that has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deskgym.benchmarks.rows import number

OURS, THEIRS = "#2a6fbb", "#c8573a"
_INTERVALS = "(logarithmic; dot: median, line: 5th to 95th percentile)"
STYLE: dict[Any, Any] = {
    "font.size": 9, "axes.titlesize": 9, "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#e4e7eb", "axes.axisbelow": True,
    "legend.frameon": False, "legend.fontsize": 8, "xtick.labelsize": 8, "ytick.labelsize": 8,
}  # fmt: skip
"""Of all plots. Bars begin at 0, so they are never on a logarithmic axis; there, dots stand for medians."""
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
        with pyplot.rc_context(STYLE):
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
    _name(axis, list(breakdown))
    axis.figure.legend(ncols=6, loc="outside lower center")
    return _finish(axis, "ms of a settled step, by phase (medians)")


def _resets(part: Any, rows: Any, figure: Any) -> bool:
    """Dots: the three kinds of reset."""
    axis = figure.subplots()
    names = {"reset/cold": "no machine yet", "reset/again": "after an episode", "reset/pooled": "with a pool"}
    shown = [key for key in names if key in rows]
    for place, key in enumerate(shown):
        _dot(axis, place, rows[key], OURS)
    _name(axis, [names[key] for key in shown])
    _log(axis)
    return _finish(axis, f"ms of a reset, as the caller sees it {_INTERVALS}")


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
    left.set_title("settled steps/s (median, 5th to 95th percentile)")
    left.legend()
    names = {"episodes/ours": "deskgym, pool", "episodes/lockstep": "AsyncVectorEnv"}
    shown = [key for key in names if key in rows]
    for place, key in enumerate(shown):
        _dot(right, place, rows[key], OURS if place == 0 else THEIRS)
    _name(right, [names[key] for key in shown])
    right.set_xlim(0)
    return _finish(right, "episodes/min, resets included")


def _density(part: Any, rows: Any, figure: Any) -> bool:
    """Memory against the number of idle desktops, and how fast each answers."""
    curve = part["facts"]["curve_mb"]
    if not curve:
        return False
    left, right = figure.subplots(1, 2)
    left.plot([count for count, _ in curve], [mb / 1024 for _, mb in curve], color=OURS, marker=".")
    left.set_xlabel("idle desktops")
    left.set_title("GiB of the host's memory")
    left.set_ylim(0)
    for key, color, label in (("density/step", OURS, "one at a time"), ("density/step/all", THEIRS, "all at once")):
        samples = sorted(rows[key]["samples"])
        right.plot(samples, [(k + 1) / len(samples) for k in range(len(samples))], color=color, label=label)
    _log(right)
    right.set_xlabel("ms (logarithmic)")
    right.legend()
    return _finish(right, "share of the desktops that have answered a step")


def _peers(part: Any, rows: Any, figure: Any) -> bool:
    """Dots: one step in each loop."""
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
        _dot(axis, place, row, color)
    _name(axis, [label for label, *_ in bars])
    _log(axis)
    return bool(bars) and _finish(axis, f"ms of one step {_INTERVALS}")


def _log(axis: Any) -> None:
    """A logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _name(axis: Any, labels: Sequence[str]) -> None:
    """Labels of rows, the first one on top; no line is needed across a row."""
    axis.set_yticks(range(len(labels)), labels)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    axis.grid(visible=False, axis="y")


def _dot(axis: Any, place: int, row: Mapping[str, Any], color: str) -> None:
    """A median with the interval in which nine of ten samples lie."""
    around = [[row["median"] - row["p5"]], [row["p95"] - row["median"]]]
    axis.errorbar(row["median"], place, xerr=around, color=color, marker="o", capsize=3, lw=1.5)
    axis.annotate(f"  {number(row['median'])}", (row["p95"], place), va="center", fontsize=8)


def _finish(axis: Any, title: str) -> bool:
    axis.set_title(title)
    axis.margins(x=0.12)
    return True


PLOTS: Mapping[str, Callable[[Any, Any, Any], bool]] = {
    "step": _steps, "reset": _resets, "vector": _vectors, "density": _density, "peers": _peers,
}  # fmt: skip
