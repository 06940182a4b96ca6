"""Arguments about the model that an agent asks, and what they stand for."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskgym.agents.llm.base import LLMAgent
    from deskgym.agents.llm.model import Model

_NAMES = {"base_url": "URL", "api": "API", "temperature": "T", "max_tokens": "N", "key_env": "NAME"}


@dataclass(frozen=True)
class Asked:
    """A model that is asked, and the agents that ask it.

    Attributes:
        model: the model.
        make: makes an agent.
        is_test: whether it is the test model without a fault.
        began: when, on the monotonic clock.
    """

    model: Model
    make: Callable[[], LLMAgent]
    is_test: bool = False
    began: float = field(default_factory=time.monotonic)

    def cancel(self) -> None:
        """Let nobody wait for a model any longer."""
        from deskgym.agents.llm.seeact import shared_models

        for model in (self.model, *shared_models()):
            model.cancel()

    def told(self) -> dict[str, Any]:
        """What was spent so far, by name; of all models together."""
        from deskgym.agents.llm.seeact import shared_models
        from deskgym.agents.llm.spending import Usage

        models = [self.model, *shared_models()]
        spent = [model.spending for model in models]
        usage, costs = Usage(), [each.cost for each in spent if each.cost is not None]
        for each in spent:
            usage = usage.plus(each.usage)
        cost = sum(costs) if costs else None
        return {
            "model": ", ".join(model.settings.name for model in models),
            "requests": sum(each.requests for each in spent), "from the cache": sum(each.from_cache for each in spent),
            "prompt tokens": usage.prompt, "answer tokens": usage.answer,
            "answer tokens per s": round(usage.answer / (time.monotonic() - self.began), 1),
            "dollars": None if cost is None else round(cost, 4),
        }  # fmt: skip


def add_model(parser: argparse.ArgumentParser) -> None:
    """--model and what goes with it."""
    group = parser.add_argument_group("for --agent llm")
    group.add_argument("--model", metavar="NAME", help="what its service calls it; 'oracle' is our test model")
    group.add_argument("--base-url", metavar="URL", help="the service's address, such as http://127.0.0.1:8000/v1")
    group.add_argument("--api", help="openai (default: chat completions), responses or anthropic")
    group.add_argument("--key-env", metavar="NAME", help="the environment variable that holds the service's key")
    group.add_argument("--temperature", type=float, metavar="T", help="of the samples (default: 0)")
    group.add_argument("--max-tokens", type=int, metavar="N", help="of one answer (default: 1500)")
    group.add_argument("--price", metavar="IN,OUT", help="dollars per million tokens of prompts and of answers")
    group.add_argument("--budget", type=float, metavar="DOLLARS", help="stop before more is spent; needs --price")
    group.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="an option of the agent, such as sees=som, or of the model, such as model.context=32768; may be repeated",
    )  # fmt: skip


@contextmanager
def asked(arguments: argparse.Namespace) -> Iterator[Asked | None]:
    """The model and the agents that the arguments name; None where they name no such agent.

    Raises:
        ValueError: what they name is not legal.
    """
    from deskgym.agents.llm.loading import kind_of, maker
    from deskgym.task_suites import find_entry

    kind = kind_of(arguments.agent, find_entry(*_suite(arguments)))
    given = [name for name in ("model", *_NAMES, "price", "budget") if getattr(arguments, name) is not None]
    if kind is None:
        if given or arguments.set:
            flag = (given or ["set"])[0].replace("_", "-")
            raise ValueError(f"--{flag} is about a model, and --agent {arguments.agent} asks none; did you mean llm?")
        yield None
        return
    if arguments.model is None:
        raise ValueError("--agent llm needs --model NAME; 'oracle' is our test model, which knows the answers")
    of_model = [text.removeprefix("model.") for text in arguments.set if text.startswith("model.")]
    of_agent = [text for text in arguments.set if not text.startswith("model.")]
    make = maker(kind, of_agent)
    with ExitStack() as ends:
        model = ends.enter_context(_model(arguments, of_model, ends))  # closed before the server of the test model
        make(model)  # an option that is not legal is an error now
        yield Asked(model, lambda: make(model), arguments.base_url is None and _is_test(arguments.model))


@contextmanager
def asked_model(arguments: argparse.Namespace) -> Iterator[Model]:
    """The model that the arguments name, where no agent plays.

    Raises:
        ValueError: what they name is not legal.
    """
    if arguments.model is None:
        raise ValueError("give --model NAME, and --base-url URL where it is not its vendor's own")
    if other := [text for text in arguments.set if not text.startswith("model.")]:
        raise ValueError(
            f"--set {other[0]}: no agent plays here; legal are settings of the model, such as model.top_p=1"
        )
    with ExitStack() as ends:
        of_model = [text.removeprefix("model.") for text in arguments.set]
        yield ends.enter_context(_model(arguments, of_model, ends))


def _suite(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """The suite that plays the tasks, which the first part of a task's id may change."""
    from deskgym.task_suites import find_entry

    entry = find_entry(arguments.suite, arguments.source)
    by_task = entry.by_task.get((arguments.task or "").partition("/")[0])
    by_action = entry.by_action.get(arguments.action or "")
    return by_task or by_action or arguments.suite, arguments.source


def _is_test(model: str) -> bool:
    from deskgym.agents.llm.oracle_server import FAULTS, NAME

    name, _, rest = model.partition(":")
    return name == NAME and rest not in FAULTS


def _model(arguments: argparse.Namespace, more: list[str], ends: ExitStack) -> Model:
    from deskgym.agents.llm.model import Model
    from deskgym.agents.llm.oracle_server import server_for
    from deskgym.agents.llm.settings import ModelSettings

    settings: dict[str, Any] = {"name": arguments.model, "cost_budget": arguments.budget}
    settings |= {name: value for name in _NAMES if (value := getattr(arguments, name)) is not None}
    if arguments.price is not None:
        try:
            settings["price"] = [float(part) for part in arguments.price.split(",")]
        except ValueError:
            raise ValueError(f"--price {arguments.price}; legal are two numbers, such as --price 0.15,0.6") from None
    for text in more:
        name, _, value = text.partition("=")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    if arguments.base_url is None and (server := server_for(arguments.model)) is not None:
        ends.callback(server.close)
        address = server.url.removesuffix("/v1") if settings.get("api") == "anthropic" else server.url
        settings["base_url"] = address
    return Model(ModelSettings.from_dict(settings))
