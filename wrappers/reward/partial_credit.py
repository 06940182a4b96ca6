"""PartialCredit: the terminal reward is the share of the checks that passed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import gymnasium

from deskgym.envs.options import checked_after
from deskgym.wrappers.base import DesktopWrapper


class PartialCredit(DesktopWrapper):
    """Replaces the terminal reward by ``scale`` times the weighted share of the verdict's checks that passed.

    The share is 1 exactly if all passed. A check with outcome ``error`` has not passed. ``info["verdict"]`` stays: its
    ``success`` says whether the task was solved, and ``info["partial"]`` is the share. A check of weight 0, and each
    that ``require`` names, is a condition: unless it passes there is no credit at all. ``stop``, the check of how the
    episode ended, is one by itself.

    Checks that the initial state passes too would pay an agent that does nothing. They cannot be found at ``reset``:
    an evaluator may press tabs and end the agent's processes to read the state. Look at the verdict of a no-op
    (``env.step(Action("done"))`` after ``reset``), and give such checks weight 0: then they must still hold at the end,
    but earn nothing.

    Args:
        env: a DesktopEnv, wrapped or not.
        weights: from a check's name, or a glob, to its weight, from 0 up; the first that fits counts. Checks that none
            fits keep the weight of their verdict (1, for most).
        scale: the reward for all.
        require: names or globs of checks that must pass for any credit.

    Raises:
        ValueError: an argument is not legal.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = gym.make("deskgym/Science-v0")  # doctest: +SKIP
        >>> env = PartialCredit(env, weights={"kalgebra.*": 2.0, "file.exists": 0.0})  # doctest: +SKIP
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        weights: Mapping[str, float] | None = None,
        scale: float = 1.0,
        require: Sequence[str] = (),
    ) -> None:
        if isinstance(require, str):
            raise ValueError(f"require={require!r}; legal is a list of names or globs of checks")
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, weights=dict(weights) if weights is not None else None, scale=scale, require=list(require)
        )
        super().__init__(env)
        for name, weight in (weights or {}).items():
            if not _is_number(weight) or weight < 0:
                raise ValueError(f"weights[{name!r}]={weight!r}; legal is a number from 0 up")
        if not _is_number(scale):
            raise ValueError(f"scale={scale!r}; legal is a number")
        self.weights, self.scale, self.required = dict(weights or {}), float(scale), tuple(require)

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step; at the end, the reward is the share of the checks that passed."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if (terminated or truncated) and "verdict" in info:
            share = self.share(info["verdict"])
            reward, info = self.scale * share, {**info, "partial": share}
        return observation, reward, terminated, truncated, info

    def share(self, verdict: Mapping[str, Any]) -> float:
        """The weighted share of passed checks in ``info["verdict"]``, in [0, 1]."""
        total = earned = 0.0
        for check in verdict["checks"]:
            weight, passed = self._weight(check), check["outcome"] == "pass"
            gate = weight == 0 or any(fnmatchcase(check["name"], name) for name in self.required)
            if gate and not passed:
                return 0.0
            total += weight
            earned += weight * passed
        return earned / total if total else float(verdict["score"])

    def _weight(self, check: Mapping[str, Any]) -> float:
        for name, weight in self.weights.items():
            if fnmatchcase(check["name"], name):
                return float(weight)
        return float(check["weight"])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
