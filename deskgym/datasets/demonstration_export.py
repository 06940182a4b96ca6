"""Recorded episodes (``RecordEpisode``'s folders) as demonstrations in WONDERBREAD's format."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deskgym.envs.action.actions import STOPS, Action
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.task_suites.bpm.demonstration import Demonstration, DemonstrationError
from deskgym.task_suites.bpm.demonstration_text import pressed, procedure_of, typed
from deskgym.wrappers.recording.recording import Recording

FPS = 10
"""Of the video."""
COLOURS = 64
"""Of a picture in a slim demonstration."""
LONGEST = 3.0
"""Seconds for which the video shows a state at most."""
_SHOWING, _FOCUSED = (1 << STATE_BITS.index(name) for name in ("showing", "focused"))
_SILENT = ("move", "wait", "mouse_down", "key_up", *STOPS)
_PARTS = ("parse", "act")  # of a step's timing; how long the agent thought is not recorded

Frame = NDArray[np.uint8]


@dataclass
class _Moment:
    """A state of the screen, and what was done then; None after the last action."""

    frame: int
    elements: list[dict[str, Any]]
    seconds: float
    action: dict[str, Any] | None = field(default=None)


def write_demonstration(recording: Recording, out: str | Path, slim: bool = False) -> Demonstration:
    """Write a recorded episode as a demonstration.

    What an action was done to is the smallest accessible element at its place, or the one that has the focus. Typing
    into one element, and scrolling at one place, become one action each; waits and moves become none. Coordinates are
    pixels of the screenshots. There is no source of a page and no address, which accessibility does not tell. The time
    is that of the steps, without the agent's between them.

    Args:
        recording: of a desktop, complete or not.
        out: folder in which the demonstration gets a folder of its own.
        slim: without the video and the states' elements, and with pictures of half the size in few colours: a twentieth
            of the size, for a repository. Coordinates stay those of the screen.

    Raises:
        DemonstrationError: it is no episode of a desktop, its actions were programs, a picture is missing, or the
            folder is there already or cannot be written; nothing is left of it then.
    """
    moments = _merged(list(_moments(recording)))
    started = datetime.fromisoformat(str(recording.meta["started"]))
    task = recording.meta["task"]
    folder = Path(out) / f"{str(task['id']).replace('/', '.')} @ {started:%Y-%m-%d-%H-%M-%S}"
    frames = [_frame(recording, moment.frame) for moment in moments]
    events = list(_events(moments, started, frames[0].shape, slim))
    webarena = {
        "task_id": task["id"],
        "intent": task["instruction"],
        "sites": list(task["tags"]),
        "instantiation_dict": dict(task["params"]),
        "start_url": "",
    }
    made = Demonstration(folder, webarena, tuple(event["data"] for event in events), None)
    made = replace(made, procedure=_procedure(task.get("verbose") or (), made))
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise DemonstrationError(f"{folder} cannot be made: {error.strerror}; give another folder") from None
    try:
        _write(made, events, frames, None if slim else [moment.seconds for moment in moments])
    except (OSError, DemonstrationError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise DemonstrationError(f"{folder} cannot be written: {error}") from None
    return made


def _procedure(steps: Sequence[str], made: Demonstration) -> str:
    """The steps that the task's author has written, or else a draft of what was done."""
    if not steps:
        return procedure_of(made)
    numbered = (f"{number}. {step}" for number, step in enumerate(steps, 1))
    return "\n".join([made.intent, "", *numbered]) + "\n"


def _write(
    made: Demonstration, events: Sequence[Any], frames: Sequence[Frame], seconds: Sequence[float] | None
) -> None:
    trace = {"trace": events, "webarena": made.task}
    (made.folder / f"{made.name}.json").write_text(json.dumps(trace, ensure_ascii=False, default=repr), "utf-8")
    (made.folder / "screenshots").mkdir()
    for number, frame in enumerate(frames):
        if seconds is None:
            small = Image.fromarray(frame).reduce(2)
            small.quantize(COLOURS).save(made.screenshot(number), optimize=True)
        elif not cv2.imwrite(str(made.screenshot(number)), cv2.cvtColor(frame, cv2.COLOR_RGB2BGR)):
            raise DemonstrationError(f"screenshots/{number}.png was not taken by the disk")
    if seconds is not None:
        _write_video(made.folder / f"{made.name}.mp4", frames, seconds)
    (made.folder / f"SOP - {made.name}.txt").write_text(str(made.procedure), "utf-8")


def _moments(recording: Recording) -> Iterator[_Moment]:
    if recording.is_conversation or not recording.steps:
        raise DemonstrationError(f"{recording.folder} is no episode of a desktop; record one of those")
    moment = _Moment(recording.steps[0]["frame"], _elements(recording, recording.steps[0]), 0.0)
    pointer: tuple[int, int] | None = None
    seconds = 0.0
    for number, line in enumerate(recording.steps[1:], 1):
        seconds += sum(line["timing"].get(name, 0.0) for name in _PARTS) / 1000
        for given in _performed(recording, number, line):
            try:
                action = Action.from_dict(given)
            except ValueError as error:
                raise DemonstrationError(f"{recording.folder}: step {number}: {error}") from None
            if action.x is not None and action.y is not None:
                pointer = action.x, action.y
            if action.verb in _SILENT:
                continue
            moment.action = _event_data(action, pointer, moment.elements)
            yield moment
            moment = _Moment(moment.frame, moment.elements, seconds)
        if line["frame"] is not None:
            moment = _Moment(line["frame"], _elements(recording, line), seconds)
    yield moment


def _performed(recording: Recording, number: int, line: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    done = line.get("performed", line.get("action"))
    if isinstance(done, str):
        if done in ("DONE", "FAIL", "WAIT") or done.startswith("ANS"):
            return ()
        raise DemonstrationError(
            f"{recording.folder}: step {number} is a program; a demonstration has actions of mouse and keyboard, so "
            "record with action='computer' or 'discrete'"
        )
    return done if isinstance(done, list) else [done] if isinstance(done, dict) and "action" in done else []


def _elements(recording: Recording, line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The visible elements of a step, as a trace has those of a page."""
    found = recording.elements(line.get("elements"))
    if found is None:
        return []
    return [
        {
            "xpath": f"//*[{index + 1}]", "x": x, "y": y, "width": width, "height": height, "role": texts[0],
            "tag": texts[0], "type": None, "label": texts[1], "text": texts[2], "placeholder": None, "value": texts[2],
            "focused": bool(states & _FOCUSED),
        }
        for index, ((x, y, width, height, _, states, _, _), texts) in enumerate(
            zip(found["rows"], found["texts"], strict=True)
        )
        if states & _SHOWING and width > 0 and height > 0
    ]  # fmt: skip


def _event_data(
    action: Action, pointer: tuple[int, int] | None, elements: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    x, y = pointer or (None, None)
    element = _at(elements, pointer) if action.verb in ("click", "drag", "mouse_up", "scroll") else _focused(elements)
    place = {"x": x, "y": y}
    match action.verb:
        case "click" | "drag" | "mouse_up":
            clicked = {"type": "mouseup", **place, "is_right_click": action.button == "right", "pressed": False}
            return clicked | {"element_attributes": {**place, "element": element} if element else None}
        case "scroll":  # pynput counts up and to the right
            attributes = {"xpath": element.get("xpath")} if element else None
            return {"type": "scroll", **place, "dx": action.dx, "dy": -action.dy, "element_attributes": attributes}
        case "type":
            key = pressed(action.text)
            kind = "keystroke"
        case _:
            key = " ".join(f"Key.{key}" if len(key) > 1 else repr(key) for key in action.keys)
            kind = "keypress"
    return {"type": kind, "key": key, "element_attributes": {"key": key, "element": element} if element else None}


def _at(elements: Sequence[Mapping[str, Any]], pointer: tuple[int, int] | None) -> Mapping[str, Any]:
    """The smallest element at a place; {} where there is none."""
    if pointer is None:
        return {}
    x, y = pointer
    there = [e for e in elements if e["x"] <= x < e["x"] + e["width"] and e["y"] <= y < e["y"] + e["height"]]
    return min(there, key=lambda e: e["width"] * e["height"], default={})


def _focused(elements: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((element for element in elements if element["focused"]), {})


def _merged(moments: list[_Moment]) -> list[_Moment]:
    """The moments, without those between actions that are one."""
    found: list[_Moment] = []
    for moment in moments:
        if found and (action := found[-1].action) is not None and moment.action is not None:
            if _is_one(action, moment.action):
                found[-1].action = _joined(action, moment.action)
                continue
        found.append(moment)
    return found


def _is_one(action: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two actions are parts of one: typing into one element, one key again and again, or scrolling."""
    if action["type"] != other["type"] or action["type"] not in ("keystroke", "keypress", "scroll"):
        return False
    if action["type"] == "keypress" and action["key"] != other["key"]:
        return False
    if action["type"] == "scroll":
        return bool((action["x"], action["y"]) == (other["x"], other["y"]))
    places = [_box((each["element_attributes"] or {}).get("element")) for each in (action, other)]
    return places[0] == places[1]


def _box(element: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    return None if element is None else tuple(element[key] for key in ("x", "y", "role", "label"))


def _joined(action: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    if action["type"] == "scroll":
        return action | {"dx": action["dx"] + other["dx"], "dy": action["dy"] + other["dy"]}
    if action["type"] == "keypress":
        return action | {"count": action.get("count", 1) + 1}
    return action | {"key": pressed(typed(action) + typed(other))}


def _events(
    moments: Sequence[_Moment], started: datetime, shape: Sequence[int], slim: bool
) -> Iterator[dict[str, Any]]:
    size = {"width": shape[1], "height": shape[0]}
    for number, moment in enumerate(moments):
        when = {
            "timestamp": (started + timedelta(seconds=moment.seconds)).isoformat(timespec="milliseconds"),
            "secs_from_start": round(moment.seconds, 3),
        }
        focused = _focused(moment.elements)
        state = {
            "id": 2 * number, "step": number, **when, "url": "", "tab": "", "html": "", "screenshot_base64": None,
            "json_state": json.dumps([] if slim else moment.elements, ensure_ascii=False),
            "path_to_screenshot": f"screenshots/{number}.png", "window_position": {"x": 0, "y": 0}, "window_size": size,
            "active_application_name": focused.get("label") or "", "screen_size": size, "is_headless": True,
        }  # fmt: skip
        yield {"type": "state", "data": state}
        if moment.action is not None:
            yield {"type": "action", "data": {"id": 2 * number + 1, "step": number + 1, **when, **moment.action}}


def _frame(recording: Recording, number: int | None) -> Frame:
    frame = recording.frame(number)
    if frame is None:
        raise DemonstrationError(f"{recording.folder} has no readable frame {number}; record the episode again")
    return frame


def _write_video(path: Path, frames: Sequence[Frame], seconds: Sequence[float]) -> None:
    """Each state for as long as it was there, ``LONGEST`` at most."""
    height, width = frames[0].shape[:2]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), FPS, (width, height))
    if not writer.isOpened():
        raise DemonstrationError(f"{path.name}: OpenCV here has no encoder for MPEG-4")
    try:
        for number, frame in enumerate(frames):
            shown = seconds[number + 1] - seconds[number] if number + 1 < len(frames) else 1.0
            for _ in range(max(1, round(min(shown, LONGEST) * FPS))):
                writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    finally:
        writer.release()
