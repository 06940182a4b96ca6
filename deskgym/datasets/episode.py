"""Episode: all that an env said and was told from a reset to the end, and how Minari keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from minari.data_collector import EpisodeBuffer  # type: ignore[import-untyped]
from minari.dataset.episode_data import EpisodeData  # type: ignore[import-untyped]
from numpy.typing import NDArray

from deskgym.datasets.spaces import from_columns, storable_text, stored_text, to_columns

META = "deskgym"
"""The name of the JSON attribute of a Minari episode with its seed, reset options, task and verdict."""

_INFO_TEXT, _INFO_JSON, _INFO_REST = "task", ("timing", "verdict"), "more"
MASK = "action_mask"
"""The name of the masks among Minari's infos."""
_MAX_SEED = 2**64  # HDF5's largest integer


@dataclass
class Episode:
    """One episode of T steps.

    Attributes:
        seed: what the env was reset with, or None.
        options: the same.
        observations: T + 1 values of the observation space.
        actions: T values of the action space.
        rewards: T numbers.
        terminated: T flags.
        truncated: T flags.
        infos: T + 1 JSON-able dicts: tuples are lists, arrays are lists of numbers.
        meta: JSON-able facts of the whole episode: ``task``, ``instruction``, ``params``, ``split``, ``difficulty``,
            ``tags``, ``score``, ``success``.
        masks: T + 1 action masks, bool (n,), of an env that has some; else empty.
    """

    seed: int | None = None
    options: Mapping[str, Any] | None = None
    observations: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminated: list[bool] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)
    masks: list[NDArray[np.bool_]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def ended(self) -> bool:
        """Whether the last step terminated or truncated it."""
        return bool(self.actions) and (self.terminated[-1] or self.truncated[-1])

    def to_buffer(
        self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any], number: int | None = None
    ) -> EpisodeBuffer:
        """The episode as Minari takes it, as the dataset's episode ``number``."""
        natural = {k: v for k, v in (self.options or {}).items() if isinstance(v, (str, int, float))}
        return EpisodeBuffer(
            id=number,
            seed=self.seed if self.seed is not None and 0 <= self.seed < _MAX_SEED else None,
            options={k: storable_text(v) if isinstance(v, str) else v for k, v in natural.items()} or None,
            observations=to_columns(observation_space, self.observations),
            actions=to_columns(action_space, self.actions),
            rewards=[float(reward) for reward in self.rewards],
            terminations=[bool(flag) for flag in self.terminated],
            truncations=[bool(flag) for flag in self.truncated],
            infos=_info_columns(self.infos) | ({MASK: list(self.masks)} if self.masks else {}),
        )

    def attributes(self) -> dict[str, Any]:
        """What Minari keeps beside the steps: the facts as JSON, some of them on their own, and the rewards' sum."""
        facts = self.meta | {"seed": self.seed, "options": dict(self.options) if self.options is not None else None}
        alone = {name: storable_text(str(self.meta[name])) for name in ("task", "split") if self.meta.get(name)}
        return alone | {META: to_json(facts), "rewards_sum": float(sum(self.rewards))}

    @classmethod
    def from_minari(
        cls,
        data: EpisodeData,
        attributes: Mapping[str, Any],
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
    ) -> Episode:
        """The inverse of ``to_buffer`` and ``attributes``."""
        facts = json.loads(attributes[META]) if META in attributes else {}
        count = len(data)
        return cls(
            seed=facts.pop("seed", attributes.get("seed")),
            options=facts.pop("options", attributes.get("options")),
            observations=from_columns(observation_space, data.observations, count + 1),
            actions=from_columns(action_space, data.actions, count),
            rewards=data.rewards.tolist(),
            terminated=data.terminations.tolist(),
            truncated=data.truncations.tolist(),
            infos=infos_of(data),
            meta=facts,
            masks=list(data.infos[MASK]) if MASK in data.infos else [],
        )


def _info_columns(infos: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Infos as columns, one entry per step: the task's id, timing and verdict as JSON or "", and the rest as JSON."""
    named = {_INFO_TEXT, *_INFO_JSON}
    columns: dict[str, list[Any]] = {_INFO_TEXT: [storable_text(str(info.get(_INFO_TEXT, ""))) for info in infos]}
    for name in _INFO_JSON:
        columns[name] = [to_json(info[name]) if name in info else "" for info in infos]
    columns[_INFO_REST] = [to_json({k: v for k, v in info.items() if k not in named}) for info in infos]
    return columns


def infos_of(data: EpisodeData) -> list[dict[str, Any]]:
    """The infos of a Minari episode that deskgym wrote: T + 1 dicts.

    Raises:
        ValueError: they are not of that form.
    """
    missing = {_INFO_TEXT, *_INFO_JSON, _INFO_REST} - set(data.infos or {})
    if missing:
        raise ValueError(f"episode {data.id} has no infos {', '.join(sorted(missing))}: deskgym did not write it")
    columns = {name: [text.decode() for text in data.infos[name]] for name in (_INFO_TEXT, *_INFO_JSON, _INFO_REST)}
    infos = []
    for k, rest in enumerate(columns[_INFO_REST]):
        info = {_INFO_TEXT: stored_text(columns[_INFO_TEXT][k])} if columns[_INFO_TEXT][k] else {}
        info |= {name: json.loads(columns[name][k]) for name in _INFO_JSON if columns[name][k]}
        infos.append(info | json.loads(rest))
    return infos


def to_json(data: Any) -> str:
    """JSON in ASCII, which HDF5 holds whatever the texts are; arrays become lists, anything unknown its repr."""
    return json.dumps(data, default=_jsonable)


def jsonable(data: Any) -> Any:
    """The data as JSON gives it back."""
    return json.loads(to_json(data))


def _jsonable(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return repr(value)
