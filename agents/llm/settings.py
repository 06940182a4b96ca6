"""What is said of a language model: where it is, how it is asked, and what it may cost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from deskgym.envs.errors import DeskgymError, RunOver, near

APIS = ("openai", "responses", "anthropic")
"""How a service is spoken to: OpenAI's chat completions, its responses, or Anthropic's messages."""

IMAGE_FORMATS = ("png", "jpeg")
"""How an image may be encoded, as the last part of its media type."""

NEEDS = "an agent with a model needs"
"""The beginning of the sentence that says which library is missing."""

_EXAMPLE = "http://127.0.0.1:8000/v1"
_KEYS = {"openai": "OPENAI_API_KEY", "responses": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


class ModelError(DeskgymError):
    """A model gave no answer: its service failed, or said what cannot be read. Says nothing about the model's skill."""


class ContextOverflow(ModelError):
    """What was asked is longer than the model reads."""


class BudgetSpent(ModelError, RunOver):
    """The next request could cost more tokens or money than is left."""


class ModelRefused(ModelError, RunOver):
    """The service knows no such key or model: no request will ever be answered."""


_NUMBER = (int, float)
_TYPES: Mapping[str, type[Any] | tuple[type[Any], ...]] = {
    "name": str, "base_url": str, "api": str, "key_env": str, "temperature": _NUMBER, "top_p": _NUMBER,
    "max_tokens": int, "context": int, "tokenizer": str, "timeout": _NUMBER, "retries": int,
    "requests_per_minute": _NUMBER, "tokens_per_minute": _NUMBER, "token_budget": int, "cost_budget": _NUMBER,
    "cache": str, "logprobs": bool, "token_ids": bool, "image_detail": str, "image_format": str,
}  # fmt: skip
_WORDS: Mapping[Any, str] = {str: "a text", int: "a whole number", _NUMBER: "a number", bool: "true or false"}


@dataclass(frozen=True)
class ModelSettings:
    """A model, and how to ask it.

    Attributes:
        name: what its service calls it.
        base_url: the service's address, such as ``http://127.0.0.1:8000/v1``; None takes the vendor's own.
        api: one of ``APIS``.
        key_env: the environment variable that holds the service's key; None takes the vendor's usual one, and sends
            the word ``none`` where that is not set.
        temperature: of the samples; None leaves it to the service, as models that reason want it.
        top_p: the share of the probability that samples are taken from; None leaves it to the service.
        max_tokens: that one answer may have.
        context: tokens that the model reads, its answer included; None where that is not known.
        tokenizer: what counts them: a folder or file that ``tokenizers`` loads; None estimates.
        timeout: seconds for one try.
        retries: further tries after a time-out, a lost connection, 408, 409, 429 and 5xx, ever more slowly, or as the
            service says (``Retry-After``).
        requests_per_minute: at most so many; None sets no limit.
        tokens_per_minute: at most so many, by the count before the request; None sets no limit.
        token_budget: tokens of all requests together; None sets no limit.
        cost_budget: dollars of all requests together; needs ``price``.
        price: dollars per million tokens of prompts, and of answers.
        cache: a folder in which answers are kept, so that the same request is made once; None keeps none. Needs
            ``temperature`` 0: samples are to differ.
        logprobs: ask for the tokens of each answer with their log-probabilities, where the service gives them.
        token_ids: ask for the ids of the tokens that it read and wrote, as vLLM's chat completions give them
            (``return_token_ids``); other services may refuse that.
        image_detail: ``"auto"``, ``"low"`` or ``"high"``, as OpenAI's API has it.
        image_format: ``"png"``, or ``"jpeg"`` (of quality 95), which is made in a fifth of the time. Tools of vendors
            show PNGs always.

    Raises:
        ValueError: one of them is not legal.
    """

    name: str
    base_url: str | None = None
    api: str = "openai"
    key_env: str | None = None
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 1500
    context: int | None = None
    tokenizer: str | None = None
    timeout: float = 120.0
    retries: int = 5
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    token_budget: int | None = None
    cost_budget: float | None = None
    price: tuple[float, float] | None = None
    cache: str | None = None
    logprobs: bool = False
    token_ids: bool = False
    image_detail: str = "auto"
    image_format: str = "png"

    def __post_init__(self) -> None:
        for key, kinds in _TYPES.items():
            value = getattr(self, key)
            if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool)):
                raise ValueError(f"{key}={value!r} is a {type(value).__name__}; legal is {_WORDS[kinds]}")
        if not self.name:
            raise ValueError("a model has no name; give the one that its service knows, such as --model my-model")
        for key, legal in {"api": APIS, "image_detail": ("auto", "low", "high"), "image_format": IMAGE_FORMATS}.items():
            if (value := getattr(self, key)) not in legal:
                raise ValueError(f"{key}={value!r}; legal are {', '.join(legal)}{near(str(value), legal)}")
        for key in ("max_tokens", "timeout", "context", "requests_per_minute", "tokens_per_minute"):
            if (value := getattr(self, key)) is not None and not 0 < value < float("inf"):
                raise ValueError(f"{key}={value!r}; legal is a number above 0")
        for key in ("retries", "token_budget", "cost_budget", "temperature", "top_p"):
            if (value := getattr(self, key)) is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{key}={value!r}; legal is a number from 0 up")
        prices = self.price if isinstance(self.price, tuple) else ()
        are_numbers = all(isinstance(part, _NUMBER) and 0 <= part < float("inf") for part in prices)
        if self.price is not None and not (len(prices) == 2 and are_numbers):
            raise ValueError(f"price={self.price!r}; legal are dollars per million tokens of prompts, and of answers")
        if self.cost_budget is not None and self.price is None:
            raise ValueError("a budget needs --price (price): dollars per million tokens of prompts, and of answers")
        if self.cache is not None and self.temperature != 0:
            raise ValueError(f"cache={self.cache!r} needs temperature=0, got {self.temperature}: samples are to differ")
        if self.context is not None and self.context <= self.max_tokens:
            raise ValueError(f"context={self.context} leaves nothing to read beside max_tokens={self.max_tokens}")
        if self.base_url is not None:
            address = urlsplit(self.base_url)
            if address.scheme not in ("http", "https") or not address.hostname:
                raise ValueError(f"base_url={self.base_url!r}; legal is an address such as {_EXAMPLE}")
            if "@" in address.netloc or address.query:
                raise ValueError(f"base_url has a user or a query, and is recorded; legal is {_EXAMPLE}, with key_env")

    @property
    def key(self) -> str:
        """The service's key.

        Raises:
            ValueError: the environment variable that was named has none, or the vendor's own service needs one.
        """
        name = self.key_env or _KEYS[self.api]
        if key := os.environ.get(name, "").strip():
            return key
        if self.key_env is not None or self.base_url is None:
            raise ValueError(f"model {self.name!r} needs a key: set the environment variable {name}")
        return "none"

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-able data; the key is not in it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ModelSettings:
        """The settings of ``to_dict``. Raises ValueError where one is unknown or not legal."""
        legal = [each.name for each in fields(cls)]
        for name in data:
            if name not in legal:
                raise ValueError(
                    f"unknown setting {name!r} of a model; legal are {', '.join(legal)}{near(name, legal)}"
                )
        price = data.get("price")
        return cls(**{**data, "price": tuple(price) if isinstance(price, list) else price})
