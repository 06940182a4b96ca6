"""Model: one client for any language model, with retries, limits, budgets and a cache."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.agents.llm.apis import API, Json, Reply
from deskgym.agents.llm.settings import NEEDS, ContextOverflow, ModelError, ModelRefused, ModelSettings
from deskgym.agents.llm.spending import Spending, Usage
from deskgym.agents.llm.tokens import TokenCounter
from deskgym.envs.errors import RunOver
from deskgym.envs.extras import needs_extra
from deskgym.wrappers.observation.messages import Message

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

Exchange = Callable[[Mapping[str, Any]], None]
"""Takes a record of a request and what became of it."""

_OVERFLOW = ("context_length", "context length", "context window", "too long", "too many tokens", "maximum length")
_WHO = ("user", "metadata", "headers")  # of a request, what makes no difference to the answer
_MINUTE = 60.0
_PAUSE = 60.0  # seconds that may go by between two tries: as long as ``Retry-After`` is heeded
_MOST_LOST = 3  # requests that found no service at all, before the first that found one: then there is none
_REFUSED = (401, 403, 404)
_UNKNOWN_MAX = "max_completion_tokens"  # OpenAI's models that reason refuse the older name of it, and name this one


class Model:
    """Asks a language model. One may be shared by many threads, each of which waits for its own answer.

    Requests go through the vendors' own libraries, which try again after what may pass. All limits and budgets hold
    for all threads together.

    Args:
        settings: which model, and how it is asked.

    Attributes:
        settings: the same.
        spending: what was spent so far.
        count: counts tokens.

    Raises:
        ValueError: a setting is not legal, or a key is missing.
        MissingLibrary: a library is not installed.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings, self.spending, self.count = settings, Spending(settings), TokenCounter(settings)
        self.api = API[settings.api]
        self._client = _client(settings)
        self._ends = ExitStack()
        with needs_extra("llm", NEEDS):
            from aiolimiter import AsyncLimiter
            from anyio.from_thread import start_blocking_portal
        requests, volume = settings.requests_per_minute, settings.tokens_per_minute
        self._requests = AsyncLimiter(1, _MINUTE / requests) if requests is not None else None
        self._volume = AsyncLimiter(volume, _MINUTE) if volume is not None else None
        self._waiting: set[Future[tuple[Json, int]]] = set()
        self._lock = threading.Lock()
        self._worked, self._lost = False, 0
        self._portal: BlockingPortal = self._ends.enter_context(start_blocking_portal())
        self._ends.callback(lambda: self._portal.call(self._client.close))

    def ask(self, messages: Sequence[Message], *, record: Exchange | None = None, **extra: Any) -> Reply:
        """The model's answer to a chat; waits for it.

        Args:
            messages: the chat.
            record: called with what was asked and answered, failures included.
            **extra: added to the request as the service's API has it, such as ``tools``.

        Raises:
            ContextOverflow: it is longer than the model reads.
            BudgetSpent: it could cost more than is left.
            ModelError: there is no answer.
        """
        settings = self.settings
        request = self.api.request(settings, messages, extra)
        line: dict[str, Any] = {"api": settings.api, "request": request}
        start = time.perf_counter()
        try:
            reply = self._answer(request, Usage(self.count.request(request), settings.max_tokens), line)
        except ModelError as error:
            line["error"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            line["seconds"] = round(time.perf_counter() - start, 4)
            if record is not None:
                record(line)
        return replace(reply, seconds=line["seconds"])

    def _answer(self, request: Json, estimate: Usage, line: dict[str, Any]) -> Reply:
        """The answer to a request of about so many tokens; puts what is known of it into ``line``."""
        kept = self._kept(request)
        if (known := self._read(kept)) is not None:
            with suppress(ModelError):  # one that cannot be used is asked for again
                reply = replace(self.api.reply(known), from_cache=True)
                line |= {"response": known, "from_cache": True, "usage": reply.usage._asdict()}
                self.spending.add(reply.usage, from_cache=True)
                return reply
        most = self.settings.context
        if most is not None and estimate.prompt + estimate.answer > most:
            raise ContextOverflow(
                f"the request has about {estimate.prompt} tokens, with {estimate.answer} for the answer; "
                f"{self.settings.name!r} reads {most}"
            )
        with self.spending.reserved(estimate):
            line["response"], line["retries"] = self._sent(request, estimate)
            usage = estimate  # until the service says better: what cannot be read was paid for all the same
            try:
                reply = self.api.reply(line["response"])
                said = reply.usage
                usage = Usage(said.prompt or estimate.prompt, said.answer or self.count.text(reply.text), said.cached)
            finally:
                line["usage"] = usage._asdict()
                self.spending.add(usage)
        self._keep(kept, line["response"])
        return replace(reply, usage=usage, retries=line["retries"])

    def _sent(self, request: Json, estimate: Usage) -> tuple[Json, int]:
        """The service's response, and after how many tries that failed; waits for it, or until ``cancel``."""
        waiting = self._portal.start_task_soon(self._send, request, estimate)
        with self._lock:
            self._waiting.add(waiting)
        try:
            return waiting.result()
        except CancelledError:
            raise RunOver("the run was stopped while it waited for the model") from None
        finally:
            with self._lock:
                self._waiting.discard(waiting)

    def cancel(self) -> None:
        """Let nobody wait any longer: who does gets a RunOver."""
        with self._lock:
            waiting = list(self._waiting)
        for each in waiting:
            each.cancel()

    async def _admit(self, tokens: int) -> None:
        """Wait until the limits let a request of so many tokens through."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._volume is not None:
            await self._volume.acquire(min(tokens, self._volume.max_rate))

    async def _send(self, request: Json, estimate: Usage) -> tuple[Json, int]:
        import anyio

        await self._admit(estimate.prompt + estimate.answer)
        tries = self.settings.retries + 1
        try:
            # the libraries' time-out is for each piece that comes; a service that trickles would hold a player for ever
            with anyio.fail_after(self.settings.timeout * tries + _PAUSE * self.settings.retries):
                got = await self.api.send(self._client, request)
            self._worked = True
            response = json.loads(got.http_response.content)
        except TimeoutError:
            raise ModelError(f"model {self.settings.name!r} did not answer in time, {tries} times") from None
        except (ValueError, RecursionError) as error:
            raise ModelError(f"the service's response is no JSON: {error}") from None
        except _errors(self.settings.api) as error:
            told = _told(error, self.settings)
            if getattr(error, "status_code", None) is None and not self._worked:
                self._lost += 1
                if self._lost >= _MOST_LOST:
                    raise ModelRefused(f"{told}; is there a service at this address?") from None
            raise told from None
        if not isinstance(response, dict):
            raise ModelError(f"the service's response is no JSON object: {str(response)[:200]}")
        return response, int(got.retries_taken)

    def _kept(self, request: Json) -> Path | None:
        if self.settings.cache is None:
            return None
        asked = {name: part for name, part in request.items() if name not in _WHO}
        text = json.dumps([self.settings.base_url, self.settings.api, asked], sort_keys=True)
        name = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        return Path(self.settings.cache).expanduser() / name[:2] / f"{name}.json"

    def _read(self, kept: Path | None) -> Json | None:
        if kept is None:
            return None
        with suppress(OSError, ValueError):  # a damaged one is asked for again
            found = json.loads(kept.read_text(encoding="utf-8"))
            if isinstance(found, dict):
                return found
        return None

    def _keep(self, kept: Path | None, response: Json) -> None:
        if kept is None:
            return
        with suppress(OSError):  # where nothing can be kept, it is asked again another time
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_suffix(f".{os.getpid()}.{time.monotonic_ns()}")
            part.write_text(json.dumps(response, ensure_ascii=False), encoding="utf-8", errors="replace")
            part.replace(kept)

    def close(self) -> None:
        """End the connections. Idempotent."""
        self._ends.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _client(settings: ModelSettings) -> Any:
    with needs_extra("llm", NEEDS):
        import anthropic
        import openai
    make: Any = anthropic.AsyncAnthropic if settings.api == "anthropic" else openai.AsyncOpenAI
    options: dict[str, Any] = {"base_url": settings.base_url} if settings.base_url is not None else {}
    web: Any = anthropic if settings.api == "anthropic" else openai
    options["http_client"] = web.DefaultAsyncHttpxClient(follow_redirects=False)  # prompts go to nobody else
    return make(api_key=settings.key, timeout=settings.timeout, max_retries=settings.retries, **options)


def _errors(api: str) -> type[Exception]:
    import anthropic
    import openai

    return anthropic.AnthropicError if api == "anthropic" else openai.OpenAIError


def _told(error: Exception, settings: ModelSettings) -> ModelError:
    """What went wrong, in one line."""
    said = " ".join(str(error).replace(settings.key, "***").split())[:400]
    status = getattr(error, "status_code", None)
    if status in (400, 413) and any(sign in said.lower() for sign in _OVERFLOW):
        return ContextOverflow(f"{settings.name!r} says that the request is too long: {said}")
    kind = ModelRefused if status in _REFUSED else ModelError
    where = settings.base_url or f"{settings.api}'s own address"
    hint = ""
    if status == 400 and _UNKNOWN_MAX in said:
        hint = "; this model takes --api responses"
    return kind(f"model {settings.name!r} at {where} gave no answer: {type(error).__name__}: {said}{hint}")
