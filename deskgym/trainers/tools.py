"""What the environments for TRL have in common: episodes of a dataset's rows, played by calling methods, then a reward.

TRL makes one object per rollout, calls ``reset(**row)`` with the dataset's row, offers every other public method as a
tool (its type hints and docstring are the tool's schema), and asks ``get_reward()`` at the end. So no method may be
public that is not a tool. Written for TRL 1.16; it imports nothing of TRL.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from gymnasium.envs.registration import EnvSpec

from deskgym.envs.errors import ActionError, DeskgymError, MachineError, SetupError
from deskgym.envs.machine_env import MachineEnv
from deskgym.envs.options import checked
from deskgym.task_suites.table_analysis.env import TableAnalysisEnv
from deskgym.trainers.session import Session, is_conversation

Seen = str | list[dict[str, Any]]
"""What a tool returns: a text, or with ``image=True`` content blocks of a text and maybe a PIL image."""


class ToolEnv:
    """An episode by tools. A subclass has the tools, and says what the model sees.

    The machine starts with ``reset`` and stops with ``get_reward``, so that none holds memory while the trainer learns;
    one that is dropped earlier stops when the object is deleted or the process exits.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        image: give a picture too (for models that see).
        text_limit: characters of one text.
        reset_faults: how many resets in a row may fail; such episodes have no reward. One more raises.
        fault_reward: the reward of an episode that the infrastructure broke; None leaves it out. One that the policy
            broke itself has the reward 0.
        options: of the env, such as ``task``, ``max_steps``, ``machine``.

    Raises:
        ValueError: ``action`` or ``invalid_action`` is among the options: the subclass decides them.
        TypeError: the env is of another kind.
    """

    _form: ClassVar[str] = ""
    _plays: ClassVar[type[Any]] = MachineEnv
    _seen: ClassVar[tuple[str, ...]] = ()
    _picture: ClassVar[str] = ""
    _machine: ClassVar[str] = "machine"

    @checked
    def __init__(
        self,
        env_id: str | EnvSpec,
        *,
        image: bool = False,
        text_limit: int = 6000,
        reset_faults: int = 3,
        fault_reward: float | None = None,
        **options: Any,
    ) -> None:
        for name in ("action", "invalid_action"):
            if name in options:
                raise ValueError(f"{name}={options[name]!r} cannot be chosen here; {type(self).__name__} decides it")
        if text_limit < 1:
            raise ValueError(f"text_limit={text_limit!r}; legal is a number of characters from 1 up")
        own: dict[str, Any] = {
            "image": image, "text_limit": text_limit, "reset_faults": reset_faults, "fault_reward": fault_reward,
        }  # fmt: skip
        self._build: Any = partial(type(self), env_id, **own, **options)  # type: ignore[misc,unused-ignore]
        self._image, self._text_limit = image, text_limit
        self._reset_faults, self._fault_reward = reset_faults, fault_reward
        seen = (*self._seen, *((self._picture,) if image else ()))
        if isinstance(env_id, str):  # an EnvSpec has settled them
            options = {"observation": seen, "action": self._form, "invalid_action": "feedback", **options}
        self._session = self._open(env_id, options)
        if self._session.action_form != self._form:
            form = self._session.action_form
            raise ValueError(f"{type(self).__name__} needs an env of action={self._form!r}; the spec's is {form!r}")
        self._failed_resets = 0
        self._finalizer = weakref.finalize(self, self._session.close)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._build, ()

    # --- what TRL calls

    def reset(
        self, *, task: str | None = None, split: str | None = None, seed: int | None = None, done: int = 0, **row: Any
    ) -> Seen | None:
        """Begin the episode of a dataset's row; equal rows begin in equal states.

        Args:
            task: a task id, a glob, or an instance id such as ``"kalgebra/plot-2d#7"``.
            split: ``"train"`` or ``"test"``.
            seed: draws the instance from what ``task`` leaves open.
            done: how many of the oracle's actions are done before the policy's turn.
            row: the rest of the row, which is not read.

        Returns:
            What the agent is asked and what it sees, which TRL adds to the prompt.

        Raises:
            ValueError: the row leaves the instance to chance: the generations of a group would get different tasks.
            SetupError, MachineError: the machine could not be had, ``reset_faults`` times in a row before.
        """
        if seed is None and "#" not in (task or self._session.desktop.episodes.task_pattern or ""):
            raise ValueError(
                "a row needs a 'seed' (or an instance such as 'kalgebra/plot-2d#7' as its 'task'), so that all "
                f"generations of a group get the same task; got task={task!r}, seed=None; task_rows() makes such rows"
            )
        try:
            self._session.reset(seed, task, split, done or 0)
        except (MachineError, SetupError):
            self._failed_resets += 1
            if self._failed_resets > self._reset_faults:
                raise
            return f"\n\nThe {self._machine} could not be started; there is nothing to do."
        self._failed_resets = 0
        return self._content(self._beginning())

    def get_reward(self) -> float | None:
        """The score of the episode, in [0, 1]; one that is not over is evaluated as it stands, and the machine stops.

        After a fault of the infrastructure it is ``fault_reward``: TRL leaves a rollout whose reward is None out of its
        group's baseline and gives it no advantage. A policy that broke its machine gets 0.
        """
        self._session.conclude()
        self._session.close()
        return self._fault_reward if self._session.reward is None else self._session.reward

    # --- what a subclass says

    def _beginning(self) -> str:
        """What the agent is asked and sees at the beginning."""
        raise NotImplementedError

    def _after(self, asked: str) -> str:
        """What it sees after an action that did not end the episode; ``asked`` is what it was asked before."""
        raise NotImplementedError

    def _content(self, text: str) -> Seen:
        """The text, with ``image=True`` beside a picture."""
        raise NotImplementedError

    # --- internals

    def _open(self, env_id: str | EnvSpec, options: dict[str, Any]) -> Session:
        conversation = isinstance(env_id, str) and is_conversation(env_id)
        if conversation and not issubclass(TableAnalysisEnv, self._plays):
            raise TypeError(f"{env_id!r} has no screen: use deskgym.trainers.trl_tables.table_environment")
        session = Session(env_id, **options)
        if not isinstance(session.desktop, self._plays):
            kind = type(session.desktop).__name__
            raise TypeError(f"{type(self).__name__} plays a {self._plays.__name__}, and {env_id!r} is a {kind}")
        return session

    def _part(self, name: str) -> str:
        """A text of the observation; "" where it is not observed."""
        return str(self._session.observation.get(name, ""))

    def _step(self, action: Any) -> Seen:
        """Act and tell what came of it.

        Raises:
            DeskgymError: the action was not legal or the machine broke; TRL tells the model and counts it.
        """
        if self._session.over:
            raise ActionError("the episode is over; no tool does anything any more")
        asked = self._part("instruction")
        self._session.step(action)
        fault, invalid = self._session.info.get("fault"), self._session.info.get("invalid_action")
        if fault:
            raise DeskgymError(f"the {self._machine} broke, and the episode is over: {fault['message']}")
        end = "\nThe episode is over." if self._session.over else ""
        if invalid:
            raise ActionError(f"{invalid}{end}")
        if self._session.over:
            return "The step limit is reached." + end if self._session.truncated else end.strip()
        return self._content(self._after(asked))


def rows(
    tasks: str | Sequence[str], seeds: Iterable[int], split: str | None, prompt: str, done: Sequence[int] = (0,)
) -> list[dict[str, Any]]:
    """See ``deskgym.trainers.trl.task_rows``."""
    names = [tasks] if isinstance(tasks, str) else list(tasks)
    message = [{"role": "user", "content": prompt}]
    return [
        {"prompt": message, "task": task, "split": split, "seed": int(seed), "done": int(steps)}
        for seed in seeds
        for task in names
        for steps in done
    ]
