"""A report of a run: tables, plots and a list of episodes, each with its page and with what its model was asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from deskgym._version import __version__
from deskgym.datasets.run_results import Comparison, RunRow
from deskgym.datasets.task_results import Row, TaskResults
from deskgym.viewer.model_turns import exchanges_of
from deskgym.viewer.page import asset, hash_of, page_environment, summary_of, write_page, write_stream
from deskgym.wrappers.recording.recording import Recording

_SLUG = re.compile(r"[^\w.-]+")


def write_report(
    recordings: Sequence[Recording],
    tasks: TaskResults,
    runs: Sequence[RunRow],
    against: Comparison | None,
    out: Path,
) -> Path:
    """Write a folder with ``index.html`` and a page for each episode.

    Args:
        recordings: the episodes.
        tasks: their tables.
        runs: what each agent came to.
        against: the comparison with another run, where there is one.
        out: the folder, made if it is missing.

    Returns:
        The page to begin with.

    Raises:
        RecordingError: a recording makes no sense, or a page cannot be written.
    """
    index = out / "index.html"
    style = Markup(asset("page.css") + asset("report.css"))
    listed = [_episode(number, recording, out, style) for number, recording in enumerate(recordings)]
    titled = {title or "solved": rows for title, rows in tasks.tables.items()}
    stream = (
        page_environment()
        .get_template("report.html")
        .stream(
            episodes=listed, plots=_plots(titled, runs), tables=[*_run_tables(runs), *_task_tables(titled)],
            against=str(against or ""), version=__version__, style=style, style_hash=hash_of(str(style)),
            script=Markup(asset("list.js")), script_hash=hash_of(asset("list.js")),
        )
    )  # fmt: skip
    write_stream(stream, index)
    return index


def _episode(number: int, recording: Recording, out: Path, style: str) -> dict[str, Any]:
    """Write an episode's pages; what the list says of it. Folders of two runs may have one name, and odd ones."""
    name = f"{number:05d}-{_SLUG.sub('_', recording.folder.name)}"
    page, chat = f"episodes/{name}.html", f"episodes/{name}.model.html"
    write_page([recording], out / page)
    exchanges = list(exchanges_of(recording.folder))
    summary = summary_of(recording)
    if exchanges:
        stream = page_environment().get_template("chat.html").stream(
            task=summary["task"], agent=summary["agent"], exchanges=exchanges, style=style, style_hash=hash_of(style)
        )  # fmt: skip
        write_stream(stream, out / chat)
    return {**summary, "page": page, "chat": chat if exchanges else "", "requests": len(exchanges)}


def _plots(tables: Mapping[str, Sequence[Row]], runs: Sequence[RunRow]) -> list[dict[str, Any]]:
    bars = {title: [(row.label or "all", row) for row in rows] for title, rows in tables.items()}
    found: dict[str, list[tuple[str, Row | RunRow]]] = {"agents": [(row.agent, row) for row in runs], **bars}  # type: ignore[dict-item]
    return [
        {"title": title, "bars": [
            {"label": label, "count": row.episodes, "rate": row.rate, "low": row.low, "high": row.high}
            for label, row in rows if row.rate is not None
        ]}
        for title, rows in found.items() if any(row.rate is not None for _, row in rows)
    ]  # fmt: skip


def _task_tables(tables: Mapping[str, Sequence[Row]]) -> Iterator[dict[str, Any]]:
    columns = ("", "episodes", "solved", "rate", "95 %", "score", "steps")
    for title, rows in tables.items():
        cells = [
            (row.label, row.episodes, row.solved, _percent(row.rate), f"{_percent(row.low)} to {_percent(row.high)}",
             _percent(row.score), "-" if row.steps is None else f"{row.steps:.1f}")
            for row in rows if row.episodes
        ]  # fmt: skip
        yield {"title": title, "columns": columns, "rows": cells}


def _run_tables(runs: Sequence[RunRow]) -> Iterator[dict[str, Any]]:
    if not runs:
        return
    columns = (
        "", "episodes", "solved", "rate", "95 %", "score", "prompt tokens", "answer tokens", "model s", "dollars",
        "dollars per solved", "left out",
    )  # fmt: skip
    rows = [
        (row.agent, row.episodes, row.solved, _percent(row.rate), f"{_percent(row.low)} to {_percent(row.high)}",
         _percent(row.score), row.prompt_tokens, row.answer_tokens, f"{row.seconds:.1f}", _dollars(row.cost),
         _dollars(row.cost_per_solved), row.left_out)
        for row in runs
    ]  # fmt: skip
    yield {"title": "Agents", "columns": columns, "rows": rows}
    tries = [
        (row.agent, k, _percent(row.pass_at[k]), _percent(row.pass_all[k])) for row in runs if row.tries > 1
        for k in row.pass_at
    ]  # fmt: skip
    if tries:
        yield {"title": "Of k tries at a task", "columns": ("", "k", "pass@k", "pass^k"), "rows": tries}


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:.4f}"
