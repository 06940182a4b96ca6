"""JointDiscrete: one number for verb, target and argument together, so that a mask can say exactly what is possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from deskgym.envs.action.actions import RefusedAction
from deskgym.envs.action.discrete import DiscreteActions
from deskgym.envs.errors import ActionError
from deskgym.envs.options import checked_after
from deskgym.wrappers.base import DesktopWrapper


@dataclass(frozen=True)
class Block:
    """The numbers of one verb: ``start`` + target * ``arguments`` + argument.

    Attributes:
        verb: its number in the inner action.
        name: its name.
        start: its first number.
        targets: how many targets it can name; 1 where it reads none.
        arguments: how many arguments it can name; 1 where it reads none.
        reads_target: whether the target means anything.
        reads_argument: whether the argument means anything.
    """

    verb: int
    name: str
    start: int
    targets: int
    arguments: int
    reads_target: bool
    reads_argument: bool

    @property
    def stop(self) -> int:
        """One past its last number."""
        return self.start + self.targets * self.arguments


class JointDiscrete(DesktopWrapper):
    """Makes the MultiDiscrete action of ``action="discrete"`` one Discrete, verb by verb, with exact masks.

    The masks of a MultiDiscrete are those of its parts: they cannot say that *this* verb goes with *that* element only.
    Here they can, and algorithms for a plain Discrete space work too. A number is ``block.start + target *
    block.arguments + argument``; parts that a verb does not read are left out of the count.

    Attributes:
        blocks: one ``Block`` per verb, in order.
        rows: how many elements can be named.
        arguments: how many arguments can be named.

    Raises:
        ValueError: the env's action form is another one.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = gym.make("deskgym/Science-v0", action="discrete")  # doctest: +SKIP
        >>> env = JointDiscrete(env)  # doctest: +SKIP
        >>> env.reset(seed=0), env.action_masks().sum()  # doctest: +SKIP
    """

    @checked_after
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        if self.desktop.discrete is None:
            raise ValueError(f"JointDiscrete needs action='discrete'; the env's is {self.desktop.actions.name!r}")
        self.discrete: DiscreteActions = self.desktop.discrete
        _, targets, arguments = self.discrete.nvec
        self.rows, self.arguments = self.desktop.observer.max_elements, arguments
        self.blocks: list[Block] = []
        start = 0
        for number, verb in enumerate(self.discrete.verbs):
            aims, says = verb.targets is not None, bool(verb.argument)
            aimed = (targets if verb.grid else self.rows) if aims else 1
            self.blocks.append(Block(number, verb.name, start, aimed, arguments if says else 1, aims, says))
            start = self.blocks[-1].stop
        self.action_space = spaces.Discrete(start)
        self._starts = np.array([block.start for block in self.blocks])

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step with the number of a verb, target and argument; any other form goes inside as it is.

        Raises:
            ActionError: the number is not in the space (unless ``invalid_action="feedback"``).
        """
        if isinstance(action, int | np.integer) or (isinstance(action, np.ndarray) and action.ndim == 0):
            try:
                action = self.split(action)
            except ActionError as error:
                action = RefusedAction(error)
        return self.env.step(action)

    def action_masks(self) -> NDArray[np.bool_]:
        """True exactly for what can be done now: bool (n,)."""
        aim, say = self.discrete.joint()
        parts = []
        for block in self.blocks:
            targets = aim[block.verb, : block.targets] if block.reads_target else aim[block.verb, :1]
            arguments = say[block.verb, : block.arguments] if block.reads_argument else say[block.verb, :1]
            parts.append((targets[:, None] & arguments[None, :]).reshape(-1))
        return np.concatenate(parts)

    def split(self, action: Any) -> NDArray[np.int64]:
        """A number as (verb, target, argument): int64 (3,).

        Raises:
            ActionError: it is not in the space.
        """
        number = int(action)
        if not 0 <= number < self.action_space.n:  # type: ignore[attr-defined]
            raise ActionError(f"discrete action {number}; legal are 0 to {self.action_space.n - 1}")  # type: ignore[attr-defined]
        block = self.blocks[int(np.searchsorted(self._starts, number, side="right")) - 1]
        target, argument = divmod(number - block.start, block.arguments)
        return np.array([block.verb, target, argument], np.int64)

    def join(self, action: Any) -> int:
        """(verb, target, argument) as a number, the inverse of ``split``; what the verb does not read is dropped.

        Raises:
            ActionError: it is not in the inner space, or aims at a grid cell with a verb that cannot.
        """
        verb, target, argument = (int(part) for part in action)
        if not 0 <= verb < len(self.blocks):
            raise ActionError(f"discrete verb {verb}; legal are 0 to {len(self.blocks) - 1}")
        block = self.blocks[verb]
        target, argument = target * block.reads_target, argument * block.reads_argument
        if not (0 <= target < block.targets and 0 <= argument < block.arguments):
            raise ActionError(
                f"{block.name} with target {target} and argument {argument}; legal are targets 0 to "
                f"{block.targets - 1} and arguments 0 to {block.arguments - 1}"
            )
        return block.start + target * block.arguments + argument
