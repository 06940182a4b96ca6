"""A report of a run: tables, plots and a list of episodes, each with its page and with what its model was asked."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from deskgym._version import __version__
from deskgym.agents.llm.apis import API
from deskgym.agents.llm.exchanges import image_path, named_image, read_exchanges
from deskgym.agents.llm.settings import ModelError
from deskgym.datasets.run_results import Comparison, RunRow, agent_of
from deskgym.datasets.task_results import Row, TaskResults
from deskgym.viewer.page import asset, hash_of, page_environment, summary_of, write_page, write_stream
from deskgym.wrappers.recording.recording import Recording

_MOST_TEXT = 20_000  # characters of a message on a page


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
    listed = [_episode(recording, out, style) for recording in recordings]
    titled = {title or "solved": rows for title, rows in tasks.tables.items()}
    stream = (
        page_environment()
        .get_template("report.html")
        .stream(
            episodes=listed, plots=_plots(titled, runs), tables=[*_run_tables(runs), *_task_tables(titled)],
            against=str(against or ""), version=__version__, style=style, style_hash=hash_of(str(style)),
        )
    )  # fmt: skip
    write_stream(stream, index)
    return index


def _episode(recording: Recording, out: Path, style: str) -> dict[str, Any]:
    """Write an episode's pages; what the list says of it."""
    name = recording.folder.name
    page, chat = f"episodes/{name}.html", f"episodes/{name}.model.html"
    write_page([recording], out / page)
    exchanges = list(_exchanges(recording.folder))
    summary, agent = summary_of(recording), agent_of(recording)
    if exchanges:
        stream = page_environment().get_template("chat.html").stream(
            task=summary["task"], agent=agent, exchanges=exchanges, style=style, style_hash=hash_of(str(style))
        )  # fmt: skip
        write_stream(stream, out / chat)
    score = summary["score"]
    return {
        **summary, "page": page, "chat": chat if exchanges else "", "requests": len(exchanges), "agent": agent,
        "score": "-" if score is None else f"{score:g}",
    }  # fmt: skip


def _exchanges(folder: Path) -> Iterator[dict[str, Any]]:
    """What was asked and said, as the page shows it."""
    for line in read_exchanges(folder):
        request = line.get("request") or {}
        told = request.get("messages") or request.get("input") or []
        turns = [_turn(each, folder) for each in told if isinstance(each, Mapping)]
        yield {
            "step": line.get("step"), "role": line.get("role"), "dropped": line.get("dropped"),
            "retries": line.get("retries"), "seconds": line.get("seconds"), "error": line.get("error"),
            "before": turns[:-1], "last": turns[-1] if turns else None, "said": _said(line),
        }  # fmt: skip


def _turn(message: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    texts: list[str] = []
    images: list[str] = []
    _collect(message.get("content", message), texts, images)
    urls = [url for name in images if (url := _picture(image_path(folder, name)))]
    return {
        "role": message.get("role", message.get("type", "")),
        "text": "\n\n".join(texts)[:_MOST_TEXT],
        "images": urls,
    }


def _collect(value: Any, texts: list[str], images: list[str]) -> None:
    """The texts and the names of images in a message, however deep."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list):
        for part in value:
            _collect(part, texts, images)
    elif isinstance(value, Mapping):
        if value.get("type") in ("image_url", "input_image", "computer_screenshot", "image"):
            images.append(named_image(value))
            return
        for name, part in value.items():
            if name in ("text", "content", "output") or isinstance(part, list):
                _collect(part, texts, images)


def _picture(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return f"data:image/{path.suffix[1:]};base64,{base64.b64encode(path.read_bytes()).decode()}"
    except OSError:
        return ""


def _said(line: Mapping[str, Any]) -> str:
    """What a model has answered: its words, and the calls of its tools."""
    try:
        reply = API[line["api"]].reply(line["response"])
    except (KeyError, ModelError):
        return ""
    calls = [
        json.dumps(part, ensure_ascii=False) for part in reply.parts if part.get("type") not in ("text", "message")
    ]
    return "\n".join(filter(None, [reply.text, *calls]))[:_MOST_TEXT]


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
