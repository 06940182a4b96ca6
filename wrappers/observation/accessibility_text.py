"""AccessibilityText: the screen's elements as a text for a language model, filtered and within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import spaces

from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.observation.texts import TEXT_LENGTHS
from deskgym.envs.options import checked_after
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers.base import DesktopWrapper
from deskgym.wrappers.observation.element_rules import check_preset, kept_rows
from deskgym.wrappers.observation.element_text import ENDINGS, Xml, table
from deskgym.wrappers.observation.text_budget import longest, measure

FORMS = ("table", "xml")
MAX_CHARACTERS = TEXT_LENGTHS["a11y"]


class AccessibilityText(DesktopWrapper):
    """Adds a text of the screen's elements, or replaces the ``a11y`` part, in a benchmark's form and within a budget.

    A text that is too long is cut at a row's end and says so: ``[12 more rows]``, and in the presets of the published
    benchmarks their own ``[...]`` (as a comment in XML, which stays well-formed). The benchmarks cut in the middle of a
    row and add the ``[...]`` on top of the budget; here it is within.

    =============================  =================================================================================
    what the benchmarks do         arguments
    =============================  =================================================================================
    Spider2-V (agent.py)           ``preset="spider2v", budget=5000, unit="tiktoken:gpt-4"``
    ScienceBoard (vmanager.py)     ``preset="scienceboard", budget=10240, unit="tiktoken:gpt-4"``
    their servers' XML             ``form="xml"``, which is unfiltered there and filtered here
    =============================  =================================================================================

    The rules are in ``deskgym.wrappers.observation.element_rules``, columns and attributes in
    ``deskgym.wrappers.observation.element_text``. In our own preset the ``index`` is the row of the ``elements``
    observation, and so a target of the discrete action.

    Args:
        env: an environment.
        form: ``"table"`` or ``"xml"``.
        preset: whose rule and form: ``"deskgym"``, ``"spider2v"`` or ``"scienceboard"``.
        budget: the longest text, in ``unit``; None is the space's 65,536 characters, which hold in any case.
        unit: ``"characters"``; ``"tokens"``, estimated without any vocabulary (``text_budget.estimated_tokens``); or
            ``"tiktoken:MODEL"``, exact, which needs the package tiktoken and the file that it downloads.
        part: the name of the text in the observation.

    Raises:
        ValueError: an argument is not legal, the budget holds not even an empty text, tiktoken is not to be had, or
            ``part`` names something else than a text.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = gym.make("deskgym/Science-v0")  # doctest: +SKIP
        >>> env = AccessibilityText(env, preset="spider2v", budget=5000, unit="tokens")  # doctest: +SKIP
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        form: str = "table",
        preset: str = "deskgym",
        budget: int | None = None,
        unit: str = "characters",
        part: str = "a11y",
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, form=form, preset=preset, budget=budget, unit=unit, part=part
        )
        super().__init__(env)
        if form not in FORMS:
            raise ValueError(f"form={form!r}; legal are {', '.join(FORMS)}")
        self.form, self.preset, self.budget, self.part = form, check_preset(preset), budget, part
        self._measure = measure(unit)
        least = self._measure(self._shortest())
        if budget is not None and budget < least:
            raise ValueError(
                f"budget={budget!r}; legal is {least} {unit} or more: the text without any row has so many"
            )
        parts = self.parts()
        if not isinstance(parts.get(part, UnicodeText(1)), UnicodeText):
            raise ValueError(f"part={part!r} is there already and is no text; choose another name")
        limit = min(budget, MAX_CHARACTERS) if budget is not None and unit == "characters" else MAX_CHARACTERS
        self.observation_space = spaces.Dict({**parts, part: UnicodeText(limit)})
        self.desktop.observer.reads_elements = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env, and add the text."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._with_text(observation, info), info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Step the env, and add the text."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._with_text(observation, info), float(reward), terminated, truncated, info

    def _with_text(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
        return {**observation, self.part: "" if "fault" in info else self.text(self.desktop.elements)}

    def text(self, elements: Elements) -> str:
        """The text of some elements, as an observation has it."""
        images = self.preset == "spider2v"  # OSWorld's table, and so ScienceBoard's, leaves out nameless images
        rows = kept_rows(elements, self.desktop.screen_size, self.preset, images).tolist()
        ending = ENDINGS[self.preset]
        if self.form == "xml":
            xml = Xml(elements, rows, self.preset)
            return longest(
                len(rows), lambda k: xml.text(k, ending.format(len(rows) - k) if k < len(rows) else ""), self._fits
            )
        lines = table(elements, rows, self.preset)
        return longest(
            len(rows),
            lambda k: "\n".join([*lines[: k + 1], *([ending.format(len(rows) - k)] if k < len(rows) else [])]),
            self._fits,
        )

    def _shortest(self) -> str:
        ending = ENDINGS[self.preset].format(self.desktop.observer.max_elements)
        if self.form == "xml":
            return Xml(NO_ELEMENTS, [], self.preset).text(0, ending)
        return "\n".join([*table(NO_ELEMENTS, [], self.preset), ending])

    def _fits(self, text: str) -> bool:
        if len(text) > MAX_CHARACTERS:
            return False
        return self.budget is None or self._measure(text) <= self.budget
