"""Builds the page: what a recording holds, as a template and a script show it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from jinja2.environment import TemplateStream
from markupsafe import Markup

from deskgym._version import __version__
from deskgym.agents.base import judge
from deskgym.datasets.run_results import agent_of, spent_in
from deskgym.envs.observation.elements import state_names
from deskgym.viewer.frames import Bases, pack_frames
from deskgym.viewer.highlight import tokens
from deskgym.viewer.marks import Pointer, caption, clicked_on, source_text
from deskgym.viewer.model_turns import asked_at
from deskgym.viewer.page_turns import turns
from deskgym.viewer.tree import tree_of
from deskgym.wrappers.recording.recording import Recording, RecordingError

_OUTER = ("parse", "act", "evaluate", "fault", "record")  # of a step
_MAX_TEXT = 400  # characters of an element's text in its tooltip


def write_page(recordings: Sequence[Recording], out: Path, done: Callable[[], object] | None = None) -> int:
    """Write one HTML page with all episodes, images included.

    Args:
        recordings: in the order of the page's list.
        out: the page; its folder is made if it is missing.
        done: called after each episode.

    Returns:
        Its size in bytes.

    Raises:
        RecordingError: a recording makes no sense, or the page cannot be written.
    """
    return write_stream(_page(recordings, done or (lambda: None)), out)


def write_pair(left: Recording, right: Recording, out: Path) -> int:
    """Write one HTML page with two episodes side by side, which go from step to step together or each alone.

    Args:
        left: an episode.
        right: another one.
        out: the page; its folder is made if it is missing.

    Returns:
        Its size in bytes.

    Raises:
        RecordingError: a recording makes no sense, or the page cannot be written.
    """
    recordings = (left, right)
    return write_stream(
        page_environment()
        .get_template("pair.html")
        .stream(
            names=[f"{_made(recording, _summary)['task']} ({recording.folder.name})" for recording in recordings],
            pages=["".join(_page([recording], lambda: None)) for recording in recordings],
            inner_script_hash=hash_of(_script("page")),
            inner_style_hash=hash_of(asset("page.css")),
            **_inline("pair"),
        ),
        out,
    )


def _page(recordings: Sequence[Recording], done: Callable[[], object]) -> TemplateStream:
    """The page with a list of episodes."""
    summaries = [_made(recording, _summary) for recording in recordings]
    return page_environment().get_template("page.html").stream(
        summaries=summaries,
        tree=tree_of(summaries),
        episodes=_episodes(recordings, done),
        version=__version__,
        **_inline("page"),
    )  # fmt: skip


def page_environment() -> Environment:
    """What renders the templates of this folder."""
    return Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _inline(name: str) -> dict[str, str]:
    """A page's own script and style, and what allows exactly these."""
    script, style = _script(name), asset(f"{name}.css")
    return {
        "script": Markup(script), "style": Markup(style), "script_hash": hash_of(script), "style_hash": hash_of(style),
    }  # fmt: skip


def _script(name: str) -> str:
    """A page's script; that of the list of episodes is one for all pages that have it."""
    return asset("list.js") + asset(f"{name}.js") if name == "page" else asset(f"{name}.js")


def write_stream(stream: TemplateStream, out: Path) -> int:
    """Write a page, whole or not at all; its folder is made if it is missing. Returns its size in bytes.

    Raises:
        RecordingError: it cannot be written.
    """
    partial = out.with_name(out.name + ".part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            stream.dump(file, encoding="utf-8", errors="replace")
        partial.replace(out)
        return out.stat().st_size
    except OSError as error:
        raise RecordingError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def asset(name: str) -> str:
    """The text of a file of this folder."""
    return files("deskgym.viewer").joinpath(name).read_text("utf-8")


def hash_of(text: str) -> str:
    """A Content-Security-Policy source that allows exactly this inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _episodes(recordings: Sequence[Recording], done: Callable[[], object]) -> Iterator[dict[str, Any]]:
    bases = Bases()
    for recording in recordings:
        content = _made(recording, _content, bases)
        yield _made(recording, _summary) | content | {"bases": bases.new}
        bases.new = []
        done()


def _made(recording: Recording, make: Callable[..., dict[str, Any]], *more: Any) -> dict[str, Any]:
    try:
        return make(recording, *more)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise RecordingError(f"{recording.folder} makes no sense ({type(error).__name__}: {error})") from error


def _content(recording: Recording, bases: Bases) -> dict[str, Any]:
    """What the page shows of an episode: of a conversation its turns, of a desktop its frames."""
    facts = {
        "meta": recording.meta, "facts": _facts(recording), "turns": [], "subject": "",
        **_changes(recording),
    }  # fmt: skip
    if not recording.is_conversation:
        return facts | {"data": _packed(_data(recording, bases))}
    dialogue = str(recording.steps[0]["texts"].get("dialogue", ""))  # it begins with who asks, and what for
    subject = dialogue.partition("\n")[0].removeprefix("User: ")
    nothing: dict[str, Any] = {"size": [1, 1], "steps": [], "frames": [], "elements": {}}
    return facts | {"turns": turns(recording), "subject": subject, "data": _packed(nothing)}


def _changes(recording: Recording) -> dict[str, Any]:
    """The rows that the episode has changed, and whether there are more."""
    found = recording.row_changes
    return {"changes": [_change(change) for change in found["rows"]], "more_changes": found["more"]}


def _change(change: Mapping[str, Any]) -> dict[str, Any]:
    """A row that has changed: ``place``, ``kind``, ``values`` (name, old, new), and its ``rest``, to know it by."""
    old, new, columns = change["old"] or {}, change["new"] or {}, change["columns"]
    names = columns or list(new or old)
    return {
        "place": f"{change['database']}: {change['table']}",
        "kind": change["kind"],
        "values": [
            (name, old.get(name) if change["old"] else "", new.get(name) if change["new"] else "")
            for name in names if columns or (new or old).get(name) not in (None, "")
        ],
        "rest": ", ".join(f"{name} {value}" for name, value in old.items() if columns and name not in names)[:200],
    }  # fmt: skip


def _packed(data: Mapping[str, Any]) -> str:
    """JSON as the page holds it: the elements of a screen say much twice."""
    return base64.b64encode(gzip.compress(json.dumps(data, allow_nan=False).encode(), mtime=0)).decode()


def summary_of(recording: Recording) -> dict[str, Any]:
    """What a list of episodes shows of one.

    Raises:
        RecordingError: the recording makes no sense.
    """
    return _made(recording, _summary)


def _summary(recording: Recording) -> dict[str, Any]:
    """What the list of episodes shows."""
    verdict, task = recording.verdict or {}, recording.meta.get("task") or {}
    fault = recording.ending.get("fault") or {}
    outcome, score, why = judge(recording.ending)
    if outcome == "unfinished":
        outcome = "error" if recording.aborted else "unfinished"
        why = recording.aborted or "the recording ends before the episode did"
    elif outcome == "failed" and not fault:
        why = ""  # the table of checks says it
    return {
        "task": str(task.get("id", "?")),
        "instruction": str(task.get("instruction", "")),
        "seed": recording.meta.get("seed"),
        "steps": max(0, len(recording.steps) - 1),
        "seconds": round(sum(ms for step in recording.steps for _, ms in phases(step.get("timing") or {})) / 1000, 1),
        "agent": agent_of(recording),
        "outcome": outcome,
        "why": why,
        "cause": fault.get("cause"),
        "score": score,
        "checks": [
            {key: str(check.get(key, "")) for key in ("name", "outcome", "message")}
            for check in verdict.get("checks", ())
        ],
        "notes": list(map(str, verdict.get("notes", ()))),
        "folder": recording.folder.name,
        "branch": (str(branch["of"]), int(branch["step"])) if (branch := recording.meta.get("branch")) else None,
    }


def _facts(recording: Recording) -> list[tuple[str, str]]:
    """Name and value of what else is known of the episode."""
    meta, task = recording.meta, recording.meta.get("task") or {}
    pairs: list[tuple[str, Any]] = [
        ("parameters", task.get("params")),
        ("seed", meta.get("seed")),
        ("split", task.get("split")),
        ("difficulty", task.get("difficulty")),
        ("tags", ", ".join(map(str, task.get("tags") or ()))),
        ("task from", task.get("source")),
        ("mode", (meta.get("env") or {}).get("mode")),
        ("action form", meta.get("action_form")),
        ("step limit", meta.get("step_limit")),
        ("machine", meta.get("machine")),
        ("screen", "" if recording.is_conversation else "×".join(map(str, meta.get("screen_size") or ()))),
        ("model", _model_use(recording)),
        ("reset", _reset_time(recording) if recording.is_conversation else ""),
        ("started", meta.get("started")),
        ("branches off", "of {of} at step {step}".format(**branch) if (branch := meta.get("branch")) else ""),
        ("versions", ", ".join(f"{name} {number}" for name, number in (meta.get("versions") or {}).items())),
        ("recording", recording.folder.name),
    ]
    return [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in pairs
        if value not in (None, "", {}, [])
    ]


def _model_use(recording: Recording) -> str:
    usage, seconds, cost = spent_in(recording)
    dollars = "" if cost is None else f", {cost:.4f} dollars"
    return f"{usage.prompt:,} tokens read, {usage.answer:,} written, {seconds:.1f} s{dollars}" if seconds else ""


def _reset_time(recording: Recording) -> str:
    spent = phases(recording.steps[0].get("timing") or {})
    return f"{sum(ms for _, ms in spent):.0f} ms ({', '.join(f'{name} {ms:.0f}' for name, ms in spent)})"


def _data(recording: Recording, bases: Bases) -> dict[str, Any]:
    """What the script shows step by step; JSON without NaN."""
    width, height = (int(number) for number in recording.meta["screen_size"])
    named = (step["frame"] for step in recording.steps if isinstance(step.get("frame"), int))
    count = min(max(named, default=-1) + 1, len(recording.steps))  # a recorder makes one for each step at most
    frames = list(pack_frames((recording.frame(number) for number in range(count)), bases))
    numbers = sorted({step["elements"] for step in recording.steps if isinstance(step.get("elements"), int)})
    sets = {number: recording.elements(number) for number in numbers}
    pointer, asked, seen = Pointer(), asked_at(recording.folder), None
    steps = []
    for step in recording.steps:
        steps.append(_step(step, pointer, seen) | {"model": asked.get(step.get("step") or 0, [])})
        seen = sets.get(step.get("elements", -1))
    elements = {number: _elements(found) for number, found in sets.items()}
    return {"size": [width, height], "steps": steps, "frames": frames, "elements": elements}


def _step(step: Mapping[str, Any], pointer: Pointer, seen: Mapping[str, Any] | None) -> dict[str, Any]:
    """A step as the script takes it; ``seen`` are the elements of the screen before it."""
    action = step.get("action")
    info = step.get("info") or {}
    marks = pointer.marks(action)
    return {
        "number": step.get("step"),
        "caption": caption(action) + clicked_on(marks, seen) if action is not None else "",
        "action": tokens(source_text(action)) if action is not None else [],
        "marks": marks,
        "frame": step.get("frame"),
        "elements": step.get("elements"),
        "reward": _finite(step.get("reward")),
        "end": "terminated" if step.get("terminated") else "truncated" if step.get("truncated") else "",
        "feedback": str(step.get("feedback") or ""),
        "timing": phases(step.get("timing") or {}),
        "info": json.dumps(info, ensure_ascii=False, indent=1) if info else "",
    }


def phases(timing: Mapping[str, Any]) -> list[tuple[str, float]]:
    """A step's timing as phases that do not overlap, in ms: what is measured inside ``act`` takes its place.

    Examples:
        >>> phases({"parse": 1.0, "act": 10.0, "input": 2.0, "settle": 5.0})
        [('parse', 1.0), ('input', 2.0), ('settle', 5.0), ('act: other', 3.0)]
    """
    known = {name: float(ms) for name, ms in timing.items() if isinstance(ms, (int, float)) and math.isfinite(ms)}
    outer = "act" if "act" in known else "observe" if "observe" in known else None
    inner = {
        name: ms
        for name, ms in known.items()
        if (name.startswith("observe_") if outer == "observe" else name not in _OUTER)
    }
    result: list[tuple[str, float]] = []
    for name, ms in known.items():
        if name == outer and inner:
            result += [(part.removeprefix("observe_"), time) for part, time in inner.items()]
            rest = ms - sum(inner.values())
            if rest > 0:
                result.append((f"{name}: other", rest))
        elif name not in inner or outer is None:
            result.append((name, ms))
    return result


def _elements(elements: Mapping[str, Any] | None) -> list[list[Any]]:
    """Rows of x, y, width, height, role, name, text, states."""
    if elements is None:
        return []
    return [
        [
            *map(int, row[:4]),
            role[:_MAX_TEXT],
            name[:_MAX_TEXT],
            text[:_MAX_TEXT],
            ", ".join(sorted(state_names(row[5]))),
        ]
        for row, (role, name, text, _) in zip(elements["rows"], elements["texts"], strict=True)
    ]


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
