"""SeeActAgent: a planner says what to do, a grounder finds where: ScienceBoard's SeeAct."""

from __future__ import annotations

import atexit
import json
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium

from deskgym.agents.llm.grounding import Grounder
from deskgym.agents.llm.gui import GUIAgent
from deskgym.agents.llm.model import Model
from deskgym.agents.llm.prompts import prompt
from deskgym.agents.llm.settings import ModelSettings
from deskgym.envs.action.actions import parse_code
from deskgym.envs.errors import ActionError
from deskgym.wrappers.action.responses import fenced_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CLICK = re.compile(r"(?:(DOUBLE|TRIPLE|RIGHT|MIDDLE)[ \t]+)?CLICK[ \t]+(.+?)(?:[ \t]+HOLDING[ \t]+(\S+))?", re.DOTALL)
_DRAG = re.compile(r"DRAG[ \t]+(.+?)[ \t]+TO[ \t]+(.+?)(?:[ \t]+HOLDING[ \t]+(\S+))?", re.DOTALL)
_SCROLL = re.compile(r"SCROLL[ \t]+(UP|DOWN|LEFT|RIGHT)[ \t]+(\d{1,3})(?:[ \t]+AT[ \t]+(.+))?", re.DOTALL)
_MOVE = re.compile(r"MOVE[ \t]+TO[ \t]+(.+)", re.DOTALL)
_TYPE = re.compile(r"TYPE[ \t](.*)", re.DOTALL)
_PRESS = re.compile(r"PRESS[ \t]+(\S+)")
_CLICKS: Mapping[str, Mapping[str, Any]] = {
    "DOUBLE": {"clicks": 2}, "TRIPLE": {"clicks": 3}, "RIGHT": {"button": "right"}, "MIDDLE": {"button": "middle"},
}  # fmt: skip
_WAYS = {"UP": ("dy", -1), "DOWN": ("dy", 1), "LEFT": ("dx", -1), "RIGHT": ("dx", 1)}
_TARGETS = ("at", "to")


class SeeActAgent(GUIAgent):
    """Plans in words, and asks a grounding model for each place.

    Args:
        model: the planner.
        sees: see ``GUIAgent``; what the planner is shown. The grounder sees the screenshot.
        history: see ``GUIAgent``.
        budget: see ``GUIAgent``.
        documents: see ``GUIAgent``.
        grounder: settings of the grounding model, see ``ModelSettings``; None asks the planner itself.
        grounding: how the grounder says a place: ``"pixels"``, ``"unit"`` or ``"thousand"``.

    Raises:
        ValueError: an argument is not legal.
    """

    name = "seeact"
    planner = "seeact"
    form_of = "computer"

    def __init__(
        self,
        model: Model,
        sees: str = "screenshot+a11y",
        history: int = 3,
        budget: int = 5000,
        documents: str | None = None,
        grounder: Mapping[str, Any] | None = None,
        grounding: str = "pixels",
    ) -> None:
        super().__init__(model, sees, self.form_of, history, budget, documents)
        own = shared_model(grounder) if grounder is not None else None
        self.grounder = Grounder(self.ask, own, grounding)

    def env_options(self) -> dict[str, Any]:
        """See ``LLMAgent.env_options``: the grounder needs the screenshot."""
        options = super().env_options()
        return options | {"observation": tuple(sorted({*options["observation"], "screenshot"}))}

    def begin(self, observation: Any, info: Any) -> None:
        """See ``LLMAgent.begin``."""
        super().begin(observation, info)
        self._system = prompt(self.planner, programs=self.programs, shown=self.shown)

    def next_action(self, observation: Any) -> str:
        """See ``LLMAgent.next_action``: the plan with its places."""
        if self._window is None:
            raise gymnasium.error.ResetNeeded("wrap() the env before reset()")
        said = self.ask(self._window.messages(self._system), role="planner").text
        return self.grounded(said, observation["screenshot"])

    def grounded(self, said: str, screenshot: NDArray[Any]) -> str:
        """A plan as ``ExecutionFeedback`` takes it: the step with the pixels that the grounder has found."""
        step = (fenced_blocks(said) or [said.strip().splitlines()[-1] if said.strip() else ""])[0]
        try:
            action = self._resolved(step_of(step), screenshot)
        except ActionError as error:
            return f"{step}\nThis step cannot be done: {error}"
        told = (
            f"```{action}```" if isinstance(action, str) else f"```json\n{json.dumps(action, ensure_ascii=False)}\n```"
        )
        return f"{step}\n{told}"

    def _resolved(self, step: str | dict[str, Any], screenshot: NDArray[Any]) -> str | dict[str, Any]:
        if isinstance(step, str):
            return step
        for name in _TARGETS:
            if (what := step.pop(name, None)) is not None:
                point = self.grounder.find(screenshot, what)
                if point is None:
                    raise ActionError(f"the helper does not find {what!r}")
                names = ("to_x", "to_y") if name == "to" else ("x", "y")
                step |= dict(zip(names, point, strict=True))
        return step


def step_of(text: str) -> str | dict[str, Any]:
    """A planner's step: a word such as DONE, or an action whose places are described by ``at`` and ``to``.

    Raises:
        ActionError: it is none.

    Examples:
        >>> step_of('RIGHT CLICK the cell "B2"')
        {'action': 'click', 'button': 'right', 'at': 'the cell "B2"'}
        >>> step_of("PRESS ctrl+s")
        {'action': 'press', 'keys': ['ctrl', 's']}
    """
    text = text.strip("\n")
    bare = text.strip()
    if found := _TYPE.fullmatch(text):
        return {"action": "type", "text": found[1]}
    if not isinstance(parse_code(bare), str):
        return bare
    if found := _CLICK.fullmatch(bare):
        return {"action": "click", **_CLICKS.get(found[1], {}), **_held(found[3]), "at": found[2]}
    if found := _DRAG.fullmatch(bare):
        return {"action": "drag", **_held(found[3]), "at": found[1], "to": found[2]}
    if found := _SCROLL.fullmatch(bare):
        name, sign = _WAYS[found[1]]
        return {"action": "scroll", name: sign * int(found[2])} | ({"at": found[3]} if found[3] else {})
    if found := _MOVE.fullmatch(bare):
        return {"action": "move", "at": found[1]}
    if found := _PRESS.fullmatch(bare):
        return {"action": "press", "keys": found[1].split("+")}
    raise ActionError(f'{bare[:200]!r} is no step; legal are those that were named, such as: CLICK the button "Add"')


def _held(keys: str | None) -> dict[str, Any]:
    return {"keys": keys.split("+")} if keys else {}


_models: dict[str, Model] = {}
_lock = threading.Lock()


def shared_model(settings: Mapping[str, Any]) -> Model:
    """The model of these settings: one for all agents of the process, so that its limits hold for all together.

    It is closed when the process ends.
    """
    key = json.dumps(settings, sort_keys=True)
    with _lock:
        if key not in _models:
            _models[key] = Model(ModelSettings.from_dict(dict(settings)))
            atexit.register(_models[key].close)
        return _models[key]


def shared_models() -> list[Model]:
    """Those that there are."""
    with _lock:
        return [*_models.values()]
