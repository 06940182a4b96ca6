"""The forms in which services are asked: what a request looks like, and where the answer stands in the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

from deskgym.agents.llm.images import data_url
from deskgym.agents.llm.settings import ModelError, ModelSettings
from deskgym.agents.llm.spending import Usage
from deskgym.wrappers.observation.messages import Message

Json = dict[str, Any]
_MOST = 1 << 40  # tokens of one request


@dataclass(frozen=True)
class Reply:
    """What a model has answered.

    Attributes:
        text: its words.
        parts: all parts of the answer as the service gave them, tool calls included.
        usage: its tokens, as the service counts them; estimated where it does not.
        finish: why it ended, in the service's word: ``"stop"``, or ``"length"`` where it was cut off.
        id: that the service gave it.
        tokens: each token of the answer with its log-probability; None where the service gave none.
        token_ids: those of the answer in the model's vocabulary; None where the service gave none.
        prompt_token_ids: those of what it read, likewise.
        seconds: that it took, all tries together.
        retries: tries that failed before.
        from_cache: whether it was asked before.
    """

    text: str
    parts: Sequence[Json]
    usage: Usage
    finish: str = ""
    id: str = ""
    tokens: Sequence[tuple[str, float]] | None = None
    token_ids: Sequence[int] | None = None
    prompt_token_ids: Sequence[int] | None = None
    seconds: float = 0.0
    retries: int = 0
    from_cache: bool = False


class Api(Protocol):
    """A form."""

    def request(self, settings: ModelSettings, messages: Sequence[Message], extra: Mapping[str, Any]) -> Json:
        """The request for a chat, as JSON; ``extra`` is what the agent adds, such as tools."""
        ...

    async def send(self, client: Any, request: Json) -> Any:
        """Make the request with the vendor's client; gives its raw response, whatever stands in that."""
        ...

    def reply(self, response: Mapping[str, Any]) -> Reply:
        """What stands in the response. Raises ModelError where there is no answer in it."""
        ...


def _or_no_answer(read: Callable[[Any, Mapping[str, Any]], Reply]) -> Callable[[Any, Mapping[str, Any]], Reply]:
    """A reader for which whatever is not as it should be is a ModelError."""

    @wraps(read)
    def reader(self: Any, response: Mapping[str, Any]) -> Reply:
        try:
            return read(self, response)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            said = f"{type(error).__name__}: {error}"
            raise ModelError(f"the response cannot be read ({said}): {str(response)[:200]}") from None

    return reader


class ChatCompletions:
    """OpenAI's chat completions, which nearly every server speaks."""

    def request(self, settings: ModelSettings, messages: Sequence[Message], extra: Mapping[str, Any]) -> Json:
        """See ``Api.request``."""
        body: Json = {"model": settings.name, "messages": [self._message(settings, each) for each in messages]}
        body |= _sampling(settings) | {"max_tokens": settings.max_tokens}
        body |= {"logprobs": True} if settings.logprobs else {}
        return body | ({"return_token_ids": True} if settings.token_ids else {}) | dict(extra)

    async def send(self, client: Any, request: Json) -> Any:
        """See ``Api.send``."""
        return await _sent(client.chat.completions, request, ("model", "messages"))

    @_or_no_answer
    def reply(self, response: Mapping[str, Any]) -> Reply:
        """See ``Api.reply``."""
        choices = response.get("choices") or []
        said = choices[0].get("message") if choices and isinstance(choices[0], Mapping) else None
        if not isinstance(said, Mapping):
            raise ModelError(f"the response has no choice with a message: {str(response)[:200]}")
        usage = _object(response.get("usage"))
        listed = _object(choices[0].get("logprobs")).get("content")
        return Reply(
            text=_text(said.get("content")),
            parts=_objects(said.get("tool_calls") or []),
            usage=Usage(
                _count(usage.get("prompt_tokens")),
                _count(usage.get("completion_tokens")),
                _count(_object(usage.get("prompt_tokens_details")).get("cached_tokens")),
            ),
            finish=str(choices[0].get("finish_reason") or ""),
            id=str(response.get("id") or ""),
            tokens=[(str(each["token"]), float(each["logprob"])) for each in _objects(listed)] if listed else None,
            token_ids=_ids(choices[0].get("token_ids")),
            prompt_token_ids=_ids(response.get("prompt_token_ids")),
        )

    def _message(self, settings: ModelSettings, message: Message) -> Json:
        content = [self._part(settings, part) for part in message["content"]]
        if all(
            part["type"] == "text" for part in content
        ):  # some servers take nothing but a text where there is no image
            return {"role": message["role"], "content": "\n\n".join(part["text"] for part in content)}
        return {"role": message["role"], "content": content}

    def _part(self, settings: ModelSettings, part: Mapping[str, Any]) -> Json:
        if part["type"] == "image":
            return {"type": "image_url", "image_url": {"url": _url(settings, part), "detail": settings.image_detail}}
        return dict(part)


class Responses:
    """OpenAI's responses, which its computer tool needs."""

    def request(self, settings: ModelSettings, messages: Sequence[Message], extra: Mapping[str, Any]) -> Json:
        """See ``Api.request``; what ``extra`` has as ``input`` comes after the messages."""
        told = [self._message(settings, each) for each in messages]
        body: Json = {"model": settings.name, "max_output_tokens": settings.max_tokens} | _sampling(settings)
        return body | dict(extra) | {"input": [*told, *extra.get("input", ())]}

    async def send(self, client: Any, request: Json) -> Any:
        """See ``Api.send``."""
        return await _sent(client.responses, request, ("model", "input"))

    @_or_no_answer
    def reply(self, response: Mapping[str, Any]) -> Reply:
        """See ``Api.reply``."""
        items = response.get("output")
        if not isinstance(items, list):
            raise ModelError(f"the response has no output: {str(response)[:200]}")
        items, usage = _objects(items), _object(response.get("usage"))
        said = [_text(item.get("content")) for item in items if item.get("type") == "message"]
        return Reply(
            text="\n".join(said),
            parts=items,
            usage=Usage(
                _count(usage.get("input_tokens")),
                _count(usage.get("output_tokens")),
                _count(_object(usage.get("input_tokens_details")).get("cached_tokens")),
            ),
            finish=str(response.get("status") or ""),
            id=str(response.get("id") or ""),
        )

    def _message(self, settings: ModelSettings, message: Message) -> Json:
        words = "output_text" if message["role"] == "assistant" else "input_text"
        return {"role": message["role"], "content": [
            {"type": "input_image", "image_url": _url(settings, part), "detail": settings.image_detail}
            if part["type"] == "image" else {"type": words, "text": part["text"]}
            for part in message["content"]
        ]}  # fmt: skip


class Messages:
    """Anthropic's messages."""

    def request(self, settings: ModelSettings, messages: Sequence[Message], extra: Mapping[str, Any]) -> Json:
        """See ``Api.request``; what ``extra`` has as ``messages_after`` comes after the chat."""
        system = [part["text"] for each in messages if each["role"] == "system" for part in each["content"]]
        told = [self._message(settings, each) for each in messages if each["role"] != "system"]
        body: Json = {"model": settings.name, "max_tokens": settings.max_tokens} | _sampling(settings)
        body |= {"system": "\n\n".join(system)} if system else {}
        more = {name: value for name, value in extra.items() if name != "messages_after"}
        return body | more | {"messages": [*told, *extra.get("messages_after", ())]}

    async def send(self, client: Any, request: Json) -> Any:
        """See ``Api.send``."""
        return await _sent(client.messages, request, ("model", "messages", "max_tokens"))

    @_or_no_answer
    def reply(self, response: Mapping[str, Any]) -> Reply:
        """See ``Api.reply``."""
        blocks = response.get("content")
        if not isinstance(blocks, list):
            raise ModelError(f"the response has no content: {str(response)[:200]}")
        blocks, usage = _objects(blocks), _object(response.get("usage"))
        kept, written = (_count(usage.get(f"cache_{name}_input_tokens")) for name in ("read", "creation"))
        return Reply(
            text=_text(blocks),
            parts=blocks,
            usage=Usage(_count(usage.get("input_tokens")) + kept + written, _count(usage.get("output_tokens")), kept),
            finish=str(response.get("stop_reason") or ""),
            id=str(response.get("id") or ""),
        )

    def _message(self, settings: ModelSettings, message: Message) -> Json:
        return {"role": message["role"], "content": [
            {"type": "image", "source": {
                "type": "base64", "media_type": f"image/{settings.image_format}",
                "data": _url(settings, part).partition(",")[2],
            }}
            if part["type"] == "image" else {"type": "text", "text": part["text"]}
            for part in message["content"]
        ]}  # fmt: skip


API: Mapping[str, Api] = {"openai": ChatCompletions(), "responses": Responses(), "anthropic": Messages()}
"""By their names in ``settings.APIS``."""


async def _sent(resource: Any, request: Json, named: Sequence[str]) -> Any:
    """Make a request; what the library has no argument for goes with it all the same."""
    body = {name: value for name, value in request.items() if name not in (*named, "headers")}
    first = {name: request[name] for name in named}
    return await resource.with_raw_response.create(
        **first, extra_body=body, extra_headers=request.get("headers"), stream=False
    )


def _url(settings: ModelSettings, part: Mapping[str, Any]) -> str:
    return data_url(part["image"], settings.image_format)


def _sampling(settings: ModelSettings) -> Json:
    asked = {"temperature": settings.temperature, "top_p": settings.top_p}
    return {name: value for name, value in asked.items() if value is not None}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(values: Any) -> list[Json]:
    return [dict(each) for each in values if isinstance(each, Mapping)] if isinstance(values, list) else []


def _count(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    is_one = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST
    return int(value) if is_one else 0


def _ids(value: Any) -> list[int] | None:
    """The tokens of a list of numbers; None for what is none."""
    return [int(each) for each in value] if isinstance(value, list) and value else None


def _text(content: Any) -> str:
    """The words of a message: a text, or those of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, Mapping) and part.get("text"))
