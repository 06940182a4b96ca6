"""What agents with a language model have in common: they ask, keep what was said, and shorten what is too long."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from deskgym.agents.llm.apis import Reply
from deskgym.agents.llm.exchanges import Exchanges
from deskgym.agents.llm.settings import ContextOverflow
from deskgym.agents.llm.spending import Usage
from deskgym.envs.machine_env import MachineEnv
from deskgym.wrappers.observation.messages import Message
from deskgym.wrappers.recording.record_episode import RecordEpisode

if TYPE_CHECKING:
    from deskgym.agents.llm.model import Model

PLAYING: weakref.WeakValueDictionary[str, LLMAgent] = weakref.WeakValueDictionary()
"""Agents of this process by the name that their requests carry: what a test model needs to answer from the oracle."""

_numbers = count(1)
_lock = threading.Lock()


class LLMAgent:
    """Plays by asking a model. A subclass says what it needs of the env, and what it asks.

    Args:
        model: that is asked; it stays the caller's, and may be shared with other agents.

    Attributes:
        name: in tables and on the command line.
        options: what it was made with beside the model, as JSON-able data: for its recordings.
        usage: tokens of this episode, those of cached answers too.
        cost: dollars of it; None where no price is known.
        seconds: that it waited for the model in this episode.
        dropped: steps of the history that were left out of the last request, because the model reads no more.
    """

    name = "llm"
    kept = 0
    """Of its chats, how many messages after the system's tell the task, and are never left out."""
    gives_up: Any = "DONE"
    """What it says where the model does not even read the present step: what no task pays for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.options: Mapping[str, Any] = {}
        self.usage, self.seconds, self.requests, self.dropped = Usage(), 0.0, 0, 0
        self.cost: float | None = None
        self.env: Any = None
        self._exchanges: Exchanges | None = None
        self._step = 0
        with _lock:
            self.user = f"deskgym-{next(_numbers)}"
        PLAYING[self.user] = self

    def env_options(self) -> dict[str, Any]:
        """Arguments of ``gymnasium.make`` that this agent needs."""
        return {}

    def wrap(self, env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
        """The env as this agent plays it; before it is recorded."""
        return env

    def reset(self, env: gymnasium.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """An episode begins: see ``Agent.reset``."""
        self.env = env
        self.usage, self.seconds, self.requests, self.dropped, self._step = Usage(), 0.0, 0, 0, 0
        self.cost = None
        folder = _recorded_into(env)
        player = {"agent": self.name, "options": dict(self.options), "model": self.model.settings.to_dict()}
        self._exchanges = Exchanges(folder, player) if folder is not None else None
        self.begin(observation, info)

    def act(self, observation: Any) -> Any:
        """The next action: see ``Agent.act``."""
        if self.env is None:
            raise gymnasium.error.ResetNeeded("call reset() before act()")
        try:
            return self.next_action(observation)
        except ContextOverflow:  # kept in the record; a model that cannot read the task has not solved it
            return self.gives_up
        finally:
            self._step += 1

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Forget the last episode; a subclass that remembers something does that here."""

    def next_action(self, observation: Any) -> Any:
        """What to do now, in a form that ``env.step`` takes."""
        raise NotImplementedError

    def ask(self, messages: Sequence[Message], role: str = "agent", model: Model | None = None, **extra: Any) -> Reply:
        """The model's answer to a chat, in which the oldest steps are left out until the model reads it.

        The first messages, those of the system, and the last one always stay.

        Args:
            messages: the chat; after the system's, user and assistant take turns.
            role: which part of the agent asks.
            model: that is asked instead of the agent's own.
            **extra: see ``Model.ask``.

        Raises:
            ContextOverflow: the model does not even read the present step.
            ModelError: there is no answer.
        """
        self.dropped, asked = 0, model or self.model
        about = {"role": role, "model": asked.settings.name, "price": asked.settings.price}
        while True:
            try:
                reply = asked.ask(
                    messages,
                    record=lambda line: self._keep({**about, **line}),
                    **self._named(extra, role, asked.settings.api),
                )
            except ContextOverflow:
                shorter = without_oldest(messages, self.kept)
                if shorter is None:
                    raise
                messages, self.dropped = shorter, self.dropped + 1
                continue
            self.usage, self.seconds = self.usage.plus(reply.usage), self.seconds + reply.seconds
            self.requests += 1
            cost = asked.spending.cost_of(Usage() if reply.from_cache else reply.usage)
            self.cost = self.cost if cost is None else (self.cost or 0.0) + cost
            return reply

    @property
    def summary(self) -> dict[str, Any]:
        """What this episode took, for its result."""
        return {
            "agent": self.name, "model": self.model.settings.name, "requests": self.requests,
            "prompt_tokens": self.usage.prompt, "answer_tokens": self.usage.answer,
            "cost": self.cost, "model_seconds": self.seconds,
        }  # fmt: skip

    def _named(self, extra: Mapping[str, Any], role: str, api: str) -> dict[str, Any]:
        """Requests say who asks, as the service's abuse checks want, and as our test model needs."""
        who = f"{self.user}:{role}"
        return {"metadata": {"user_id": who}, **extra} if api == "anthropic" else {"user": who, **extra}

    def _keep(self, line: Mapping[str, Any]) -> None:
        if self._exchanges is not None:
            self._exchanges.add({"step": self._step, "dropped": self.dropped, **line})


def without_oldest(messages: Sequence[Message], kept: int = 0) -> list[Message] | None:
    """A chat without its oldest step, two messages; None where there is none to leave out.

    Args:
        messages: the chat.
        kept: of the messages after the system's, how many at the beginning always stay: those that tell the task.
    """
    first = next((k for k, each in enumerate(messages) if each["role"] != "system"), len(messages)) + kept
    if len(messages) - first < (2 if kept else 3):
        return None
    return [*messages[:first], *messages[first + 2 :]]


def machine_env(env: gymnasium.Env[Any, Any]) -> MachineEnv:
    """The environment itself. Raises TypeError where it is none of ours."""
    inner = env.unwrapped
    if not isinstance(inner, MachineEnv):
        raise TypeError(f"an agent with a model plays a MachineEnv, got {type(inner).__name__}")
    return inner


def _recorded_into(env: gymnasium.Env[Any, Any]) -> Path | None:
    """The folder of the episode, where it is recorded."""
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper):
        if isinstance(layer, RecordEpisode):
            return layer.episode_folder
        layer = layer.env
    return None
