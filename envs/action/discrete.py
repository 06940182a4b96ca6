"""The discrete action: a verb, a target and an argument, each one number, with masks of what can be done now.

A target is a row of the ``elements`` observation, or a cell of a coarse grid for what has no element. An argument
is one of the task's words or one of the keys. Parts that a verb does not read are ignored. Write a ``Verb`` of your
own and name it ``"my_package.my_module:MY_VERB"`` in ``discrete={"verbs": [...]}``: it then works in every worker
process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action, is_combination
from deskgym.envs.action.discrete_verbs import VERBS, Verb, load_verb
from deskgym.envs.action.element_masks import ElementMasks, Mask, Point
from deskgym.envs.action.form import ActionForm, input_of
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.episode import BurstOrProgram, TaskLike
from deskgym.envs.errors import ActionError, InvalidAction
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.options import CheckedFields

GridSize = Annotated[int, (0, 256)]
Limit = Callable[[Verb, "DiscreteActions"], Mask]


@dataclass(frozen=True)
class DiscreteConfig(CheckedFields):
    """The keys of ``discrete={...}``.

    Attributes:
        verbs: names of ``VERBS``, or ``"module:NAME"`` of your own; in this order they are the verb's numbers.
        grid: columns and rows of the coarse grid; (0, 0) is none.
        max_arguments: size of the argument's part.
        keys: what ``press`` can press on every task, beside the task's own keys.
    """

    verbs: Sequence[str] = tuple(VERBS)
    grid: tuple[GridSize, GridSize] = (8, 6)
    max_arguments: Annotated[int, (1, None)] = 64
    keys: Sequence[str] = ("enter", "tab", "esc", "backspace", "delete", "up", "down", "left", "right")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.verbs or len(set(self.verbs)) < len(self.verbs):
            raise ValueError(f"discrete verbs={self.verbs!r}; legal is a list of {', '.join(VERBS)}, without repeats")
        for keys in self.keys:
            if not is_combination(keys):
                raise ValueError(f"discrete keys: {keys!r} is none; legal are such as 'enter' and 'ctrl+s'")


class DiscreteActions(ActionForm):
    """The discrete action of one env: its space, its masks, and what its numbers mean now.

    Args:
        config: verbs, grid and sizes.
        size: width and height of the screen in pixels.
        max_elements: rows of the ``elements`` observation.

    Attributes:
        limits: what a wrapper forbids: for a verb, the targets that it may aim at, bool (T,); all False forbids it.
    """

    name = "discrete"

    def __init__(self, config: DiscreteConfig, size: Point, max_elements: int) -> None:
        self.config, self.size, self.max_elements = config, size, max_elements
        self.limits: list[Limit] = []
        self.verbs: tuple[Verb, ...] = tuple(load_verb(name) for name in config.verbs)
        columns, rows = config.grid
        width, height = size
        self.grid: list[Point] = [
            ((2 * c + 1) * width // (2 * columns), (2 * r + 1) * height // (2 * rows))
            for r in range(rows)
            for c in range(columns)
        ]
        self.space = spaces.MultiDiscrete(list(self.nvec))  # verb, target, argument
        self.look(NO_ELEMENTS, Vocabulary())

    @property
    def nvec(self) -> tuple[int, int, int]:
        """How many verbs, targets (elements, then grid cells) and arguments there are."""
        return len(self.verbs), self.max_elements + len(self.grid), self.config.max_arguments

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of argument that the verbs read: ``"word"``, ``"key"``, both or none."""
        return tuple(kind for kind in ("word", "key") if any(verb.argument == kind for verb in self.verbs))

    def vocabulary_of(self, task: TaskLike) -> Vocabulary:
        """The words and keys that the argument chooses from in this task. Raises TaskError."""
        return Vocabulary.of_task(task, self.config.keys, self.config.max_arguments, self.kinds)

    def look(self, elements: Elements, vocabulary: Vocabulary) -> None:
        """The screen and the task's words are these now."""
        seen = Elements(elements.rows[: self.max_elements], elements.texts[: self.max_elements])
        self.element_masks, self.vocabulary = ElementMasks(seen, self.size), vocabulary
        self._joint: tuple[Mask, Mask] | None = None

    def joint(self) -> tuple[Mask, Mask]:
        """What goes with each verb now: targets bool (V, T) and arguments bool (V, A).

        (verb, target, argument) can be done exactly if both ``targets[verb, target]`` and ``arguments[verb, argument]``
        are true. A part that the verb does not read is true everywhere; a verb that cannot be done has an empty row.
        """
        if self._joint is None:
            count, targets, arguments = self.nvec
            may_aim, may_say = np.zeros((count, targets), bool), np.zeros((count, arguments), bool)
            for k, verb in enumerate(self.verbs):
                if not verb.when(self.element_masks):
                    continue
                aim, say = may_aim[k], may_say[k]
                if verb.targets is None:
                    aim[:] = True
                else:
                    fits = verb.targets(self.element_masks)
                    aim[: len(fits)] = fits
                    aim[self.max_elements :] = verb.grid
                for limit in self.limits:
                    aim &= limit(verb, self)
                if verb.argument == "":
                    say[:] = True
                else:
                    kinds = self.vocabulary.kinds[:arguments]
                    say[: len(kinds)] = [kind == verb.argument for kind in kinds]
                if not (aim.any() and say.any()):
                    aim[:], say[:] = False, False
            self._joint = may_aim, may_say
        return self._joint

    def masks(self) -> Mask:
        """The masks of the three parts one after the other, as sb3-contrib takes them: bool (V + T + A,).

        An entry is true exactly if some action with it can be done now. Where no verb that can be done
        reads a part, or none can be done at all, its first entry is true, since a part may not be empty.
        """
        aim, say = self.joint()
        aiming = np.array([verb.targets is not None for verb in self.verbs])
        saying = np.array([bool(verb.argument) for verb in self.verbs])
        parts = [aim.any(axis=1), aim[aiming].any(axis=0), say[saying].any(axis=0)]
        for part in parts:
            part[0] |= not part.any()
        return np.concatenate(parts)

    def parse(self, action: Any) -> list[Action]:
        """See ``decode``."""
        return self.decode(action)

    def scripted(self, script: Iterator[BurstOrProgram], look: Callable[[], None]) -> Iterator[NDArray[np.int64]]:
        """As few discrete actions as will do; each is looked for when those before have been carried out."""
        for each in script:
            burst = input_of(each)
            while burst:
                try:
                    yield self.encode(burst)
                    break
                except ActionError:  # what a script has waited for may be newer than the last observation
                    look()
                action, count = self.encode_start(burst)
                yield action
                burst = burst[count:]

    def decode(self, action: Any) -> list[Action]:
        """The actions that (verb, target, argument) stands for.

        Raises:
            ActionError: it is not in the space.
            InvalidAction: it is, but cannot be done now.
        """
        try:
            numbers = np.asarray(action)
        except ValueError:  # a ragged list
            numbers = np.empty(0)
        if numbers.shape != (3,) or numbers.dtype.kind not in "iu":
            raise ActionError(f"a discrete action is (verb, target, argument), three whole numbers; got {action!r}")
        verb_index, target, argument = numbers.tolist()
        count, targets, arguments = self.nvec
        for name, value, bound in (
            ("verb", verb_index, count), ("target", target, targets), ("argument", argument, arguments),
        ):  # fmt: skip
            if not 0 <= value < bound:
                raise ActionError(f"discrete {name} {value}; legal are 0 to {bound - 1}")
        verb = self.verbs[verb_index]
        aim, say = self.joint()
        if not (aim[verb_index, target] and say[verb_index, argument]):
            raise InvalidAction(self._why(verb, verb_index, target, argument))
        return self._made(verb, target, argument)

    def encode(self, burst: Sequence[Action]) -> NDArray[np.int64]:
        """A discrete action that does what ``burst`` does, the inverse of ``decode``: int64 (3,).

        Where several do, it is the first of them. A part that its verb does not read is the first that the masks
        allow, so that a policy with masks could have chosen it.

        Raises:
            ActionError: none can do it now.
        """
        wanted = list(burst)
        aim, say = self.joint()
        _, any_target, any_argument = np.split(self.masks(), np.cumsum(self.nvec)[:-1])
        for k, verb in enumerate(self.verbs):
            targets = _choices(aim[k], any_target, verb.targets is not None)
            arguments = _choices(say[k], any_argument, bool(verb.argument))
            for argument in arguments:
                if not targets or not _alike(self._made(verb, targets[0], argument), wanted):
                    continue
                for target in targets:
                    if self._made(verb, target, argument) == wanted:
                        return np.array([k, target, argument], np.int64)
        shown = "; ".join(str(action.to_dict()) for action in wanted)
        raise ActionError(f"no discrete action of {', '.join(v.name for v in self.verbs)} can do this now: {shown}")

    def encode_start(self, burst: Sequence[Action]) -> tuple[NDArray[np.int64], int]:
        """The discrete action that does as much of a burst's start as one can, and how many actions of it that are.

        Raises:
            ActionError: none does even the first of them.
        """
        for count in range(len(burst), 1, -1):
            with suppress(ActionError):
                return self.encode(burst[:count]), count
        return self.encode(burst[:1]), 1

    def point(self, target: int) -> Point:
        """The pixel that a target stands for."""
        if target >= self.max_elements:
            return self.grid[target - self.max_elements]
        x, y = self.element_masks.centers[target].tolist()
        return x, y

    def _made(self, verb: Verb, target: int, argument: int) -> list[Action]:
        point = self.point(target) if verb.targets is not None else None
        return verb.make(point, self.vocabulary.texts[argument] if verb.argument else "")

    def _why(self, verb: Verb, verb_index: int, target: int, argument: int) -> str:
        aim, say = self.joint()
        if not aim[verb_index].any():
            return f"{verb.name} cannot be done now"
        if not aim[verb_index, target]:
            if target >= self.max_elements:
                return f"{verb.name} cannot aim at a grid cell"
            if target >= len(self.element_masks.rows):
                return f"{verb.name} cannot act on element {target}: there are {len(self.element_masks.rows)}"
            return f"{verb.name} cannot act on element {target} ({self.element_masks.roles[target]}) now"
        return f"{verb.name} takes a {verb.argument}, and argument {argument} is none"


def _choices(allowed: Mask, masked: Mask, read: bool) -> list[int]:
    """What ``encode`` tries for one part: all that are allowed; where the part is not read, one that is masked in."""
    if read:
        return np.flatnonzero(allowed).tolist()
    return np.flatnonzero(allowed & masked)[:1].tolist()  # type: ignore[no-any-return]


def _alike(made: list[Action], wanted: list[Action]) -> bool:
    """Whether they differ by nothing but a place."""
    nowhere = {"x": None, "y": None, "to_x": None, "to_y": None}
    return [replace(action, **nowhere) for action in made] == [replace(action, **nowhere) for action in wanted]  # type: ignore[arg-type]
