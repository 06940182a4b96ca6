"""EpisodeCollector: keeps the episodes that are played through it, to make a dataset of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from minari import MinariDataset  # type: ignore[import-untyped]
from numpy.typing import NDArray

from deskgym.agents.base import LEFT_OUT, judge
from deskgym.datasets.computer_actions import ActionStore
from deskgym.datasets.episode import Episode, jsonable
from deskgym.datasets.minari_export import write_dataset
from deskgym.datasets.spaces import cast
from deskgym.envs.branching import kept_by
from deskgym.envs.episode import TaskLike
from deskgym.envs.errors import ActionError
from deskgym.envs.options import checked
from deskgym.wrappers.base import DesktopWrapper

logger = logging.getLogger("deskgym.datasets")


class EpisodeCollector(DesktopWrapper):
    """Keeps what is observed and done, in memory; put it around all other wrappers.

    It does what Minari's ``DataCollector`` does, which needs jax and cannot hold our infos. Episodes count once they
    have ended; one that ``reset`` or ``close`` cuts off is dropped, and so is, with a warning in the log, one that the
    infrastructure broke or that could not be evaluated. One whose machine the agent broke is kept: its score is 0.
    Actions may come in any form that ``env.step`` takes, and the oracle's too, and are kept as members of the action
    space. Of an env with discrete actions the masks are kept as well.

    What no member does is refused, though the env would take it: a combination that is not modifiers and one key, a
    wait or hold longer than the space's second, an action where the pointer is before one has said a place, and what
    is not legal, even with ``invalid_action="feedback"``.

    Attributes:
        episodes: the ended episodes, in order; yours to empty.
        refused: the last action of this episode that the action space has no member for, or None.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> from deskgym.agents import OracleAgent, run_episode
        >>> env = EpisodeCollector(gym.make("deskgym/Science-v0", task="kalgebra/tab"))  # doctest: +SKIP
        >>> run_episode(env, OracleAgent(), seed=7)  # doctest: +SKIP
        >>> dataset = env.save("out/data", "kalgebra/tab-v0")  # doctest: +SKIP
    """

    @checked
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.episodes: list[Episode] = []
        self.refused: Any = None
        self._actions = ActionStore(self.action_space, self.desktop.screen_size)
        self._episode: Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the env, and begin an episode."""
        self._episode = self.refused = None
        observation, info = self.env.reset(seed=seed, options=options)
        self._actions.begin()
        self._episode = Episode(
            seed=seed,
            options=jsonable(options) if options is not None else None,
            observations=[cast(self.observation_space, observation)],
            infos=[jsonable(info)],
            masks=self._masks(),
        )
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step the env, and keep the step.

        Raises:
            ActionError: the action is not legal, or the action space has no member that does the same; nothing was
                done.
        """
        try:
            kept = self._actions.store(self._joined(action))
        except ActionError:
            self.refused = action
            raise
        observation, reward, terminated, truncated, info = self.env.step(action)
        if (episode := self._episode) is not None:
            episode.actions.append(kept)
            episode.observations.append(cast(self.observation_space, observation))
            episode.rewards.append(float(reward))
            episode.terminated.append(bool(terminated))
            episode.truncated.append(bool(truncated))
            episode.infos.append(jsonable(info))
            episode.masks += self._masks()
            if episode.ended:
                assert self.desktop.task is not None  # reset has drawn it
                outcome, _, message = judge(info)
                if outcome in LEFT_OUT:
                    logger.warning("an episode of %s is left out: %s: %s", self.desktop.task.id, outcome, message)
                else:
                    episode.meta = facts(self.desktop.task, info)
                    self.episodes.append(episode)
                self._episode = None
        return observation, float(reward), terminated, truncated, info

    def memory(self) -> dict[str, Any]:
        """The present episode; those that have ended stay as they are."""
        return kept_by(self, "episodes")

    def _joined(self, action: Any) -> Any:
        """The three parts of a discrete action as the number that a ``JointDiscrete`` has for them."""
        is_split = isinstance(self.action_space, spaces.Discrete) and np.ndim(action) == 1
        return self.env.get_wrapper_attr("join")(action) if is_split and self.has_wrapper_attr("join") else action

    def _masks(self) -> list[NDArray[np.bool_]]:
        if self.desktop.discrete is None:
            return []
        return [np.array(self.env.get_wrapper_attr("action_masks")(), np.bool_)]

    def save(self, folder: str | Path, dataset_id: str, **about: Any) -> MinariDataset:
        """Write the episodes as a dataset; see ``write_dataset``."""
        return write_dataset(folder, dataset_id, self.episodes, self.env, **about)


def facts(task: TaskLike, info: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of an episode as a whole, JSON-able; ``info`` is that of its last step."""
    made: dict[str, Any] = jsonable(
        {
            "task": task.id,
            "instruction": task.instruction,
            "params": dict(task.params),
            "split": task.split,
            "difficulty": task.difficulty,
            "tags": list(task.tags),
        }
    )
    return made | scored(info)


def scored(info: Mapping[str, Any]) -> dict[str, Any]:
    """``score`` and ``success`` of an episode that counts, by the info of its last step; None where it has none."""
    outcome, score, _ = judge(info)
    return {"score": score, "success": None if score is None else outcome == "solved"}
