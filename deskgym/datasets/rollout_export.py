"""What agents with a model were shown and said, as data for fine-tuning and for other tools."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deskgym._version import __version__
from deskgym.agents.base import judge
from deskgym.agents.llm.apis import API, Reply
from deskgym.agents.llm.exchanges import image_path, read_exchanges, read_player
from deskgym.agents.llm.settings import ModelError
from deskgym.agents.llm.spending import Usage
from deskgym.envs.extras import needs_extra
from deskgym.wrappers.recording.recording import Recording, RecordingError

FORMATS = ("chat", "parquet", "atif")
"""``chat``: JSON lines of messages, as OpenAI's fine-tuning and TRL take them; ``parquet``: the same as a table, as the
library ``datasets`` loads it; ``atif``: a JSON file for each episode in the Agent Trajectory Interchange Format."""

ATIF = "ATIF-v1.7"
_IMAGES = "images/"


@dataclass(frozen=True)
class Sample:
    """One request of an episode, and the answer.

    Attributes:
        task: the instance that was played.
        seed: what it was reset with.
        agent: who played.
        step: at which step it was asked.
        role: which part of the agent asked.
        messages: the chat that was sent, in the form of OpenAI's chat completions; an image is a file's name.
        reply: the answer.
        score: of the episode; None where there is none.
        outcome: of the episode.
        folder: of the recording, where the images are.
    """

    task: str
    seed: int | None
    agent: str
    step: int
    role: str
    messages: list[dict[str, Any]]
    reply: Reply
    score: float | None
    outcome: str
    folder: Path

    def facts(self) -> dict[str, Any]:
        """What is said of it beside the messages."""
        tokens = self.reply.tokens
        return {
            "task": self.task, "seed": self.seed, "agent": self.agent, "step": self.step, "role": self.role,
            "reward": self.score, "outcome": self.outcome,
            "prompt_tokens": self.reply.usage.prompt, "answer_tokens": self.reply.usage.answer,
            "tokens": [token for token, _ in tokens] if tokens else None,
            "logprobs": [logprob for _, logprob in tokens] if tokens else None,
            "token_ids": self.reply.token_ids, "prompt_token_ids": self.reply.prompt_token_ids,
        }  # fmt: skip


def samples(recordings: Iterable[Recording], at_least: float | None = None) -> Iterator[Sample]:
    """All requests that were answered, in order.

    Requests of OpenAI's responses are left out: what was said before is kept by the service, and is not in them.

    Args:
        recordings: the episodes.
        at_least: only of episodes with this score or more.
    """
    for recording in recordings:
        outcome, score, _ = judge(recording.ending)
        if at_least is not None and (score is None or score < at_least):
            continue
        player, meta = read_player(recording.folder), recording.meta
        for line in read_exchanges(recording.folder):
            if line.get("api") not in _READ:
                continue
            try:
                reply = API[line["api"]].reply(line["response"])
            except (KeyError, ModelError):  # there was no answer
                continue
            if isinstance(counted := line.get("usage"), dict):  # what was counted where the service did not
                reply = replace(reply, usage=Usage.of(counted))
            yield Sample(
                task=str((meta.get("task") or {}).get("id", "")),
                seed=meta.get("seed"),
                agent=str(player.get("agent", "")),
                step=int(line.get("step") or 0),
                role=str(line.get("role") or ""),
                messages=_READ[line["api"]](line["request"]),
                reply=reply,
                score=score,
                outcome=outcome,
                folder=recording.folder,
            )


def write_chat(found: Iterable[Sample], out: Path) -> int:
    """JSON lines with ``messages``, the answer last, and what is known of the episode; images are data URLs.

    Returns:
        How many lines.

    Raises:
        RecordingError: it cannot be written.
    """
    count, part = 0, out.with_name(f"{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", errors="replace") as file:
            for sample in found:
                said = {"role": "assistant", "content": sample.reply.text}
                messages = [_with_urls(each, sample.folder) for each in sample.messages]
                line = {"messages": [*messages, said], **sample.facts()}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                count += 1
        if count:
            part.replace(out)
    except OSError as error:
        raise RecordingError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return count


def write_parquet(found: Iterable[Sample], out: Path) -> int:
    """A table with a row for each request.

    Its columns are ``prompt`` (messages as JSON, whose images are ``{"type": "image"}``), ``completion``, ``images``
    (bytes of PNGs or JPEGs, in order) and what is known of the episode.

    Returns:
        How many rows.

    Raises:
        RecordingError: it cannot be written.
    """
    with needs_extra("parquet", "a Parquet file needs"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    rows = []
    for sample in found:
        names: list[str] = []
        prompt = [_with_places(each, names) for each in sample.messages]
        images = [{"bytes": _image(sample.folder, name), "path": name} for name in names]
        rows.append(
            {"prompt": json.dumps(prompt, ensure_ascii=False), "completion": sample.reply.text, "images": images}
            | sample.facts()
        )
    schema = pa.schema([
        ("prompt", pa.string()), ("completion", pa.string()),
        ("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
        ("task", pa.string()), ("seed", pa.int64()), ("agent", pa.string()), ("step", pa.int64()),
        ("role", pa.string()), ("reward", pa.float64()), ("outcome", pa.string()), ("prompt_tokens", pa.int64()),
        ("answer_tokens", pa.int64()), ("tokens", pa.list_(pa.string())), ("logprobs", pa.list_(pa.float64())),
        ("token_ids", pa.list_(pa.int64())), ("prompt_token_ids", pa.list_(pa.int64())),
    ])  # fmt: skip
    if not rows:
        return 0
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), out)
    except OSError as error:
        raise RecordingError(f"cannot write {out}: {error.strerror or error}") from error
    return len(rows)


def write_atif(recordings: Iterable[Recording], out: Path) -> int:
    """A folder with a trajectory for each episode that asked a model: ``NAME.json``; its images lie beside it.

    Returns:
        How many episodes.

    Raises:
        RecordingError: it cannot be written.
    """
    count = 0
    for recording in recordings:
        found = list(samples([recording]))
        if not found:
            continue
        name = recording.folder.name
        try:
            out.mkdir(parents=True, exist_ok=True)
            images = {image for sample in found for image in _names(sample.messages) if image.startswith(_IMAGES)}
            for image in sorted(images):
                content = _image(recording.folder, image)
                place = out / name / image
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            text = json.dumps(_trajectory(recording, found, name), ensure_ascii=False, indent=1)
            (out / f"{name}.json").write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            raise RecordingError(f"cannot write {out}: {error.strerror or error}") from error
        count += 1
    return count


def _trajectory(recording: Recording, found: list[Sample], name: str) -> dict[str, Any]:
    """An episode in the Agent Trajectory Interchange Format."""
    steps: list[dict[str, Any]] = []
    model = str((read_player(recording.folder).get("model") or {}).get("name", ""))

    def add(source: str, message: Any, **more: Any) -> None:
        steps.append({"step_id": len(steps) + 1, "source": source, "message": message, **more})

    for number, sample in enumerate(found):
        told = sample.messages if number == 0 else [each for each in sample.messages if each["role"] == "user"][-1:]
        for each in told:
            if each["role"] in ("system", "user"):
                add(each["role"], _atif_content(each["content"], name))
        usage = sample.reply.usage
        metrics: dict[str, Any] = {
            "prompt_tokens": usage.prompt, "completion_tokens": usage.answer, "cached_tokens": usage.cached,
        }  # fmt: skip
        if sample.reply.tokens:
            metrics["logprobs"] = [logprob for _, logprob in sample.reply.tokens]
        if sample.reply.token_ids:
            metrics["completion_token_ids"] = sample.reply.token_ids
        if sample.reply.prompt_token_ids:
            metrics["prompt_token_ids"] = sample.reply.prompt_token_ids
        calls = [_call(part) for part in sample.reply.parts if part.get("type") in ("tool_use", "function")]
        more = {"tool_calls": calls} if calls else {}
        add("agent", sample.reply.text, model_name=model, metrics=metrics, extra={"role": sample.role}, **more)
    totals = [sample.reply.usage for sample in found]
    first = found[0]
    return {
        "schema_version": ATIF,
        "session_id": name,
        "agent": {"name": f"deskgym-{first.agent}", "version": __version__, "model_name": model},
        "steps": steps,
        "final_metrics": {
            "total_prompt_tokens": sum(usage.prompt for usage in totals),
            "total_completion_tokens": sum(usage.answer for usage in totals),
            "total_cached_tokens": sum(usage.cached for usage in totals),
            "total_steps": len(steps),
        },
        "extra": {"task": first.task, "seed": first.seed, "reward": first.score, "outcome": first.outcome},
    }


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    function = part.get("function") or {}
    arguments = part.get("input")
    if arguments is None:
        try:
            arguments = json.loads(function.get("arguments") or "{}")
        except ValueError:
            arguments = {"text": function.get("arguments")}
    return {
        "tool_call_id": str(part.get("id", "")),
        "function_name": str(part.get("name") or function.get("name", "")),
        "arguments": arguments,
    }


def _atif_content(content: Any, folder: str) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "image", "source": _atif_image(folder, part["image_url"]["url"])}
        if part["type"] == "image_url"
        else {"type": "text", "text": part.get("text", "")}
        for part in content
    ]


def _atif_image(folder: str, name: str) -> dict[str, str]:
    return {"media_type": f"image/{Path(name).suffix[1:]}", "path": f"{folder}/{name}"}


def _of_openai(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(each) for each in request["messages"]]


def _of_anthropic(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    told = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    return told + [
        {"role": each["role"], "content": [_part(part) for block in each["content"] for part in _blocks(block)]}
        for each in request["messages"]
    ]


def _blocks(block: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A block, or those of a tool's result."""
    inner = block.get("content")
    return inner if block.get("type") == "tool_result" and isinstance(inner, list) else [block]


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    if block.get("type") == "image":
        return {"type": "image_url", "image_url": {"url": block["source"]["data"]}}
    if block.get("type") == "text":
        return {"type": "text", "text": block["text"]}
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}


_READ = {"openai": _of_openai, "anthropic": _of_anthropic}
"""The chat of a request, by its API."""


def _image(folder: Path, name: str) -> bytes:
    """An image of a recording. Raises RecordingError where it is not there, or not one of its images."""
    path = image_path(folder, name)
    if path is None:
        raise RecordingError(f"{folder} has no image {name[:80]!r}, which its model was shown")
    return path.read_bytes()


def _with_urls(message: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A message with its images as data URLs."""
    if not isinstance(message["content"], list):
        return dict(message)
    parts = []
    for part in message["content"]:
        if part["type"] == "image_url" and part["image_url"]["url"].startswith(_IMAGES):
            name = part["image_url"]["url"]
            url = f"data:image/{Path(name).suffix[1:]};base64,{base64.b64encode(_image(folder, name)).decode()}"
            part = {**part, "image_url": {**part["image_url"], "url": url}}
        parts.append(part)
    return {**message, "content": parts}


def _with_places(message: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """A message whose images are just places; their names are added to ``names``."""
    if not isinstance(message["content"], list):
        return dict(message)
    names += _names([message])
    parts = [{"type": "image"} if part["type"] == "image_url" else part for part in message["content"]]
    return {**message, "content": parts}


def _names(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of the images in some messages, in order."""
    return [
        part["image_url"]["url"]
        for each in messages if isinstance(each["content"], list)
        for part in each["content"] if part["type"] == "image_url"
    ]  # fmt: skip
