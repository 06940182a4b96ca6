"""A taskset and an env for Prime Intellect's verifiers: their models play any of our suites.

Our agents write the prompts and read the answers; the model, its tokens and the trace are those of verifiers. The
reward is recorded when the exchange is over, so the model never reads it. Written for verifiers 0.4, which finds it by
the name of the module ``deskgym_verifiers``::

    vf-eval deskgym_verifiers --env.taskset.suite science --env.taskset.tasks 'kalgebra/*' -m MODEL ...
"""

# mypy: disable-error-code="import-untyped,import-not-found,misc,no-any-return"
# (verifiers needs other versions of openai and mcp than openenv-core, so that checks run without it)

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from typing import Any

import gymnasium

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents.base import LEFT_OUT, EpisodeResult, run_episode
from deskgym.agents.llm.apis import Reply
from deskgym.agents.llm.loading import WORD, kind_of, maker
from deskgym.agents.llm.settings import ContextOverflow, ModelSettings
from deskgym.agents.llm.spending import Spending, Usage
from deskgym.envs.errors import DeskgymError, near
from deskgym.envs.extras import needs_extra
from deskgym.task_suites import find_entry, load_suite
from deskgym.wrappers.observation.messages import Message, with_data_urls

with needs_extra("verifiers", "verifiers need"):
    import verifiers.v1 as vf
    from pydantic import Field

KINDS = ("gui", "table", "procedures", "proving")
"""The agents that may play: those that ask once for each step."""
REWARD = "deskgym"
"""The name of the reward in a trace."""


class DeskgymTasksetConfig(vf.TasksetConfig):
    """What is played."""

    suite: str = "science"
    """One of ``deskgym suites``."""
    tasks: str = "*"
    """A glob over task ids."""
    split: str | None = None
    """``train`` or ``test``; both where it is left out."""
    seeds: int = Field(1, ge=1)
    """Instances of each task: those that the seeds 0, 1, ... draw."""
    agent: str = ""
    """One of ``KINDS``; the suite's usual one where it is left out."""
    agent_options: dict[str, Any] = Field(default_factory=dict)
    """Of the agent, such as ``{"sees": "som"}``."""
    env_options: dict[str, Any] = Field(default_factory=dict)
    """Of ``gymnasium.make``, such as ``{"screen_size": [1280, 720]}``."""


class DeskgymData(vf.TaskData):
    """An episode: a task and the seed that draws its instance."""

    task: str
    seed: int
    play: DeskgymTasksetConfig


class DeskgymTask(vf.Task[DeskgymData]):
    """Has no rewards of its own: the env records what the task's evaluator says."""


class DeskgymTaskset(vf.Taskset[DeskgymTask, DeskgymTasksetConfig]):
    """The tasks of a suite, each with its seeds."""

    def load(self) -> Iterator[DeskgymTask]:
        """See ``Taskset.load``. Raises ValueError where no task matches, or the agent does not play the suite."""
        config = self.config
        _kind(config)
        ids = load_suite(config.suite).ids(config.split)
        found = [each for each in ids if fnmatchcase(each, config.tasks)]
        if not found:
            hint = near(config.tasks, ids) or f"; legal are globs over {', '.join(ids[:5])}, ..."
            raise ValueError(f"tasks={config.tasks!r} of {config.suite!r} names no task{hint}")
        for task in found:
            for seed in range(config.seeds):
                yield DeskgymTask(DeskgymData(name=f"{task}@{seed}", task=task, seed=seed, play=config), config.task)


class DeskgymEnvConfig(vf.EnvConfig):
    """One seat: a chat on this machine, since the desktop is where the env is."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class DeskgymEnv(vf.Env[DeskgymEnvConfig]):
    """Plays an episode on this machine: what is seen is the user's turn, what the model says is the action."""

    async def run(self, task: DeskgymTask, agents: Any) -> None:
        """See ``Env.run``.

        Raises:
            DeskgymError: the infrastructure broke, which verifiers try again and do not count as a failure.
        """
        async with agents.player.interaction(task) as interaction:
            model = _Partner(interaction, asyncio.get_running_loop())
            result = await asyncio.to_thread(_play, task.data, model)
        if result.outcome in LEFT_OUT or result.score is None:
            raise DeskgymError(f"an episode of {result.task} has no reward: {result.message}")
        interaction.trace.record_reward(REWARD, result.score)
        interaction.trace.record_metrics({"solved": float(result.outcome == "solved"), "steps": float(result.steps)})


class _Partner:
    """Asks whoever is at the other end of an interaction, in the place of a ``Model``."""

    def __init__(self, interaction: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.settings = ModelSettings("verifiers", temperature=None)
        self.spending = Spending(self.settings)
        self._interaction, self._loop, self._asked = interaction, loop, 0

    def ask(self, messages: Sequence[Message], **_: Any) -> Reply:
        """The answer to what is new in a chat; the interaction has the rest."""
        new = [each for each in messages if each["role"] == "system"] if not self._asked else []
        turn = self._interaction.turn([_as_user([*new, messages[-1]])])
        try:
            segment = asyncio.run_coroutine_threadsafe(turn, self._loop).result()
        except RuntimeError as error:  # a turn of an exchange that is over
            raise ContextOverflow(str(error)) from None
        if segment.terminated:
            raise ContextOverflow("the exchange was ended, such as by a limit of turns or tokens")
        self._asked += 1
        return Reply(segment.last_reply, (), Usage(0, 0))


def _as_user(messages: Sequence[Message]) -> dict[str, Any]:
    """Some messages as one of the user."""
    parts = [part for each in with_data_urls(messages) for part in each["content"]]
    return {"role": "user", "content": parts}


def _kind(config: DeskgymTasksetConfig) -> str:
    """Which agent plays. Raises ValueError where it cannot."""
    kind = kind_of(f"{WORD}:{config.agent}".rstrip(":"), find_entry(config.suite)) or ""
    if kind not in KINDS:
        raise ValueError(f"agent={config.agent!r}; legal are {', '.join(KINDS)}{near(kind, KINDS)}")
    return kind


def _play(data: DeskgymData, model: _Partner) -> EpisodeResult:
    """Play an episode in this thread."""
    options = [f"{name}={json.dumps(value)}" for name, value in data.play.agent_options.items()]
    agent = maker(_kind(data.play), options)(model)  # type: ignore[arg-type]
    given = {**data.play.env_options, **agent.env_options()}
    env = gymnasium.make(
        find_entry(data.play.suite).gym_id, disable_env_checker=True, task=data.task, split=data.play.split, **given
    )
    with closing(agent.wrap(env)) as wrapped:
        return run_episode(wrapped, agent, seed=data.seed)
