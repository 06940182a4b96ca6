"""FlatForSB3: the observation and action of any DesktopEnv in the forms that Stable-Baselines3 takes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action, RefusedAction
from deskgym.envs.action.discrete import DiscreteConfig
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.errors import ActionError
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.options import checked_after
from deskgym.wrappers.action.numbered_action import NumberedAction
from deskgym.wrappers.base import DesktopWrapper
from deskgym.wrappers.rl.flat_parts import flattened, is_image, text_box, unit_box
from deskgym.wrappers.rl.hashing import hashed

Array = NDArray[np.float32]

ROLE_COLUMNS = 24
FEATURES = ("present", "x", "y", "width", "height", *STATE_BITS, *(f"role_{k}" for k in range(ROLE_COLUMNS)))
"""What the numbers of one element are: 1 where there is one, its place and size as parts of the screen (0 to 1), its
states, and its role as one of 24 columns: ``zlib.crc32(role, 7868) % 24``, whose start value gives 18 common roles a
column each."""

KINDS = ("word", "key")
"""The columns of ``vocabulary_kinds``."""

_ROLE_SEED = 7868
_MAX_TEXT = 200  # characters of an element's name and text that are hashed
_STATES = 5  # the column of the first state
_ROLES = _STATES + len(STATE_BITS)  # the column of the first role
_BITS = np.arange(len(STATE_BITS), dtype=np.int32)


class FlatForSB3(DesktopWrapper):
    """Turns what Stable-Baselines3 cannot take into one flat dict of arrays, and the action into a list of numbers.

    ====================  ========================  ===================================================================
    part                  float32                   is
    ====================  ========================  ===================================================================
    each text             (ngrams,)                 its words hashed, L2-normalised: ``deskgym.wrappers.rl.hashing``
    ``elements``          (max_elements * F,)       the F ``FEATURES`` of each element, row by row; 0 in empty rows
    ``element_texts``     (max_elements * ngrams,)  the hashed name and text of each element; there with ``elements``
    ``vocabulary``        (A * ngrams,)             the hashed text of each of the A arguments; 0 in empty rows
    ``vocabulary_kinds``  (A * 2,)                  of each argument, whether it is a word, whether it is a key
    ====================  ========================  ===================================================================

    The vocabulary is always there with ``action="discrete"``. Elements are placed on the whole screen, also inside a
    wrapper that shows a part of it. Images of 36 pixels and more stay (a stack of them becomes one part each), 1-D
    boxes and discrete parts stay, other boxes become 1-D float32. What is nested gets a joined name: ``outer_inner``.

    Discrete and MultiDiscrete actions stay, with their ``action_masks()``. A computer action becomes a MultiDiscrete:
    the numbers of the inner space's parts, in their order. Its text is then an argument of the vocabulary (a key, or a
    number past the last one, types nothing), its seconds one of ``deskgym.wrappers.action.numbered_action.SECONDS``.
    With ``CoordinateFrame(env, (32, 24))`` inside its points are coarse, which is easier to learn than each pixel.

    Args:
        env: with ``action="discrete"``, or with ``action="computer"`` and the observation ``vocabulary``.
        ngrams: size of a hashed text. 64 tells words apart; numbers and formulas need 2048, see docs/training.md.
        screenshot: False leaves all images out.

    Attributes:
        element_features: ``FEATURES``.
        arguments: A.

    Raises:
        ValueError: the action form is ``"code"``, there is no vocabulary, or a part has no fixed size.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = gym.make("deskgym/Science-v0", action="discrete", observation=["elements"])  # doctest: +SKIP
        >>> model = MaskablePPO("MultiInputPolicy", FlatForSB3(env))  # doctest: +SKIP
    """

    element_features = FEATURES

    @checked_after
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], ngrams: int = 64, screenshot: bool = True) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, ngrams=ngrams, screenshot=screenshot)
        super().__init__(env)
        if isinstance(ngrams, bool) or not isinstance(ngrams, int) or ngrams < 1:
            raise ValueError(f"FlatForSB3 ngrams={ngrams!r}; legal is a whole number from 1 up")
        self.ngrams, self.screenshot = ngrams, screenshot
        discrete, parts = self.desktop.discrete, self.parts()
        self.arguments = (discrete.config if discrete else DiscreteConfig()).max_arguments
        self._form: NumberedAction | None = None
        if isinstance(env.action_space, spaces.Dict):
            self.require("vocabulary")
            self._form = NumberedAction(env.action_space, self.arguments)
            self.action_space = self._form.space
        elif not isinstance(env.action_space, spaces.Discrete | spaces.MultiDiscrete):
            raise ValueError(
                f"FlatForSB3 got action={self.desktop.actions.name!r} with a {type(env.action_space).__name__} space; "
                "Stable-Baselines3 can learn action='discrete', or action='computer' with the observation 'vocabulary'"
            )
        self._has_vocabulary = discrete is not None or "vocabulary" in parts
        self._has_elements = "elements" in parts
        self._vocabulary_seen: tuple[Vocabulary, Array, Array] | None = None
        parts.pop("elements", None)
        parts.pop("vocabulary", None)
        flat = [part for name, space in parts.items() for part in flattened(name, space, ngrams)]
        self._flat = [part for part in flat if screenshot or not is_image(part.space)]
        self.observation_space = self._space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env; the observation is flat."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observe(observation, info), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step with a member of the action space, or with what the env inside takes.

        Raises:
            ActionError: the action is not legal (unless ``invalid_action="feedback"``).
        """
        if self._form is not None and not isinstance(action, Action | RefusedAction | Mapping):
            action = self._inward(self._form, action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._observe(observation, info), reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """What each number of the action can be now, in sb3-contrib's form: bool (n,), or (sum of nvec,).

        Of a computer action, all but the texts that the task's vocabulary does not have.
        """
        if self._form is not None:
            return self._form.masks(self.desktop.observer.vocabulary)
        masks: NDArray[np.bool_] = self.env.get_wrapper_attr("action_masks")()
        return masks

    def _inward(self, form: NumberedAction, action: Any) -> dict[str, Any] | RefusedAction:
        try:
            return form.read(action, self.desktop.observer.vocabulary)
        except ActionError as error:
            return RefusedAction(error)

    def _space(self) -> spaces.Dict:
        result: dict[str, spaces.Space[Any]] = {}
        rows = self.desktop.observer.max_elements
        own: list[tuple[str, spaces.Space[Any]]] = [(part.name, part.space) for part in self._flat]
        if self._has_elements:
            own += [("elements", unit_box(rows * len(FEATURES))), ("element_texts", text_box(rows * self.ngrams))]
        if self._has_vocabulary:
            own += [
                ("vocabulary", text_box(self.arguments * self.ngrams)),
                ("vocabulary_kinds", unit_box(self.arguments * len(KINDS))),
            ]
        for name, space in own:
            if name in result:
                raise ValueError(f"FlatForSB3 would name two parts of the observation {name!r}; rename the inner one")
            result[name] = space
        if not result:
            raise ValueError("FlatForSB3 would leave nothing of the observation; name more parts in observation=(...)")
        return spaces.Dict(result)

    def _observe(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
        result = {part.name: part.of(observation) for part in self._flat}
        if self._has_elements:
            elements = NO_ELEMENTS if "fault" in info else self.desktop.elements  # a broken machine shows nothing
            rows = self.desktop.observer.max_elements
            result["elements"] = element_features(elements, rows, self.desktop.screen_size).reshape(-1)
            result["element_texts"] = element_texts(elements, rows, self.ngrams).reshape(-1)
        if self._has_vocabulary:
            result["vocabulary"], result["vocabulary_kinds"] = self._vocabulary(self.desktop.observer.vocabulary)
        return result

    def _vocabulary(self, vocabulary: Vocabulary) -> tuple[Array, Array]:
        """Its texts (A * ngrams,) and kinds (A * 2,); it changes only with the task."""
        if self._vocabulary_seen is None or self._vocabulary_seen[0] is not vocabulary:
            kinds = np.zeros((self.arguments, len(KINDS)), np.float32)
            for k, kind in enumerate(vocabulary.kinds[: self.arguments]):
                kinds[k, KINDS.index(kind)] = 1
            texts = _hashed_rows(vocabulary.texts[: self.arguments], self.arguments, self.ngrams)
            self._vocabulary_seen = vocabulary, texts.reshape(-1), kinds.reshape(-1)
        _, texts, kinds = self._vocabulary_seen
        return texts.copy(), kinds.copy()


def element_features(elements: Elements, rows: int, size: tuple[int, int]) -> Array:
    """The ``FEATURES`` of the first elements on a screen of this size: float32 (rows, F), zeros in empty rows."""
    table = elements.rows[:rows]
    count = len(table)
    result = np.zeros((rows, len(FEATURES)), np.float32)
    result[:count, 0] = 1
    width, height = size
    result[:count, 1:_STATES] = np.clip(table[:, :4] / (width, height, width, height), 0, 1)
    result[:count, _STATES:_ROLES] = table[:, 5:6] >> _BITS & 1
    result[np.arange(count), [_ROLES + role_column(texts[0]) for texts in elements.texts[:count]]] = 1
    return result


def element_texts(elements: Elements, rows: int, ngrams: int) -> Array:
    """The hashed "name text" of the first elements: float32 (rows, ngrams), zeros where there are none."""
    return _hashed_rows([f"{row[1]} {row[2]}"[:_MAX_TEXT] for row in elements.texts[:rows]], rows, ngrams)


@lru_cache(1024)
def role_column(role: str) -> int:
    """Which of the 24 role columns an AT-SPI role name has."""
    return zlib.crc32(role.encode("utf-8", "surrogatepass"), _ROLE_SEED) % ROLE_COLUMNS


def _hashed_rows(texts: Sequence[str], rows: int, ngrams: int) -> Array:
    result = np.zeros((rows, ngrams), np.float32)
    for k, text in enumerate(texts):
        result[k] = hashed(text, ngrams)
    return result
