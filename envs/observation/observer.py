"""DesktopObserver: which observations of a desktop are made, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.displays.base import Display
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.observation.spaces import desktop_spaces, empty_observation, observation_space
from deskgym.envs.observation.texts import TEXT_LENGTHS, cut_text

_OF_ELEMENTS = ("elements", "a11y", "terminal")


class DesktopObserver:
    """Makes a desktop's observations from what was seen last; an environment has one as ``env.unwrapped.observer``.

    Args:
        names: the chosen observations, of ``OBSERVATIONS``.
        size: width and height of the screen in pixels.
        max_elements: rows of ``elements``.

    Attributes:
        space: the Dict space of the chosen observations.
        reads_elements: whether every step reads the accessible elements; a wrapper that needs them sets it.
        elements: those that were read last.
        frame: where screenshots are captured to, uint8 (height, width, 3): shared memory, say. None makes a new array.
        instruction: what the agent is asked.
        vocabulary: the task's words and keys.
        feedback: what the last code action printed or raised, or why an action was invalid.
        context: documents about the task.

    Raises:
        ValueError: an unknown or repeated name, or none.
    """

    def __init__(self, names: Sequence[str], size: tuple[int, int], max_elements: int) -> None:
        self.space = observation_space(names, desktop_spaces(size, max_elements))
        self.names, self.size, self.max_elements = tuple(names), size, max_elements
        self.reads_elements = any(name in _OF_ELEMENTS for name in names)
        self.elements: Elements = NO_ELEMENTS
        self.frame: NDArray[np.uint8] | None = None
        self.instruction = self.feedback = self.context = ""
        self.vocabulary = Vocabulary()
        made: dict[str, Callable[[Display], Any]] = {
            "screenshot": lambda display: display.capture(self.frame),
            "elements": lambda _: self.elements.table(max_elements),
            "a11y": lambda _: self.elements.text(),
            "terminal": lambda _: self.elements.terminal(),
            "instruction": lambda _: cut_text(self.instruction, TEXT_LENGTHS["instruction"]),
            "vocabulary": lambda _: cut_text(self.vocabulary.text(), TEXT_LENGTHS["vocabulary"]),
            "feedback": lambda _: cut_text(self.feedback, TEXT_LENGTHS["feedback"]),
            "context": lambda _: cut_text(self.context, TEXT_LENGTHS["context"]),
        }
        self._make = {name: made[name] for name in names}

    def observe(self, display: Display) -> dict[str, Any]:
        """The observation: the screen as it is now, and the rest as it was seen last.

        Raises:
            MachineError: the screen is gone.
        """
        return {name: make(display) for name, make in self._make.items()}

    def observe_nothing(self) -> dict[str, Any]:
        """The observation of a machine that is lost: zeros and empty texts, but for the instruction."""
        return empty_observation(self.space, self.instruction)
