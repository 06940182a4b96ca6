"""What a model was asked in an episode, what it said, and what that took, as pages show it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deskgym.agents.llm.apis import API
from deskgym.agents.llm.exchanges import image_path, named_image, read_exchanges, spent
from deskgym.agents.llm.settings import ModelError

_MOST_TEXT = 20_000  # characters of a message


def exchanges_of(folder: Path, with_images: bool = True) -> Iterator[dict[str, Any]]:
    """The requests of an episode, in order; none where no model was asked.

    Args:
        folder: the recording.
        with_images: false: the images of messages are left out.

    Returns:
        Of each ``step`` (from 0), ``role``, ``dropped`` (older steps that were left out), ``retries``, ``seconds``,
        ``prompt`` and ``answer`` (tokens), ``cost`` (dollars, or None), ``error``, ``before`` (the messages but the
        last), ``last`` and ``said``; of a message ``role``, ``text`` and ``images`` (data URIs).
    """
    for line in read_exchanges(folder):
        request = line.get("request") or {}
        told = request.get("messages") or request.get("input") or []
        turns = [_turn(each, folder, with_images) for each in told if isinstance(each, Mapping)]
        usage, seconds, cost = spent(line)
        yield {
            "step": line.get("step"), "role": line.get("role"), "dropped": line.get("dropped"),
            "retries": line.get("retries"), "seconds": seconds,
            "prompt": usage.prompt, "answer": usage.answer, "cost": cost, "error": line.get("error"),
            "before": turns[:-1], "last": turns[-1] if turns else None, "said": _said(line),
        }  # fmt: skip


def _turn(message: Mapping[str, Any], folder: Path, with_images: bool) -> dict[str, Any]:
    texts: list[str] = []
    images: list[str] = []
    _collect(message.get("content", message), texts, images)
    urls = [url for name in images if with_images and (url := _picture(image_path(folder, name)))]
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


def asked_at(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """The requests of an episode by the step that they led to, from 1: without images, and each message just once.

    Returns:
        Lists of what ``exchanges_of`` gives, with ``messages`` in place of ``before`` and ``last``: those that the
        same part of the agent has not sent before.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    sent: dict[str, set[tuple[str, str]]] = {}
    for each in exchanges_of(folder, with_images=False):
        if not isinstance(each["step"], int):
            continue
        known = sent.setdefault(str(each["role"]), set())
        turns = [(str(turn["role"]), turn["text"]) for turn in [*each.pop("before"), each.pop("last")] if turn]
        each["messages"] = [turn for turn in turns if turn not in known and turn[1]]
        known.update(turns)
        found.setdefault(each["step"] + 1, []).append(each)
    return found
