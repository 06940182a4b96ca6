"""GUIAgent: looks at the desktop and says what to do, as the agents of Spider2-V and ScienceBoard do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium

from deskgym.agents.llm.base import LLMAgent, machine_env
from deskgym.agents.llm.prompts import prompt
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.episode import needs_of
from deskgym.envs.errors import near
from deskgym.wrappers.observation.accessibility_text import AccessibilityText
from deskgym.wrappers.observation.execution_feedback import ExecutionFeedback
from deskgym.wrappers.observation.history_window import HistoryWindow
from deskgym.wrappers.observation.set_of_mark import SetOfMark

if TYPE_CHECKING:
    from deskgym.agents.llm.model import Model

SEES = ("screenshot", "a11y", "som", "terminal")
"""What of the desktop it can be shown: ``som`` is the screenshot with numbered elements, and their table."""
_FORMS = ("code", "computer")


class GUIAgent(LLMAgent):
    """Sees the desktop, and answers with code or with JSON actions.

    Args:
        model: that is asked.
        sees: some of ``SEES``, joined by ``+``: ``"screenshot+a11y"``.
        form: ``"code"`` or ``"computer"``: how it answers.
        history: how many of its last steps it is shown.
        budget: tokens of the table of elements; the rest of its rows are left out, and counted.
        documents: a store of documentation to show passages of, see ``RetrievedContext``; None shows none.

    Raises:
        ValueError: an argument is not legal.
    """

    name = "gui"
    gives_up = "```DONE```"

    def __init__(
        self,
        model: Model,
        sees: str = "screenshot+a11y",
        form: str = "code",
        history: int = 3,
        budget: int = 5000,
        documents: str | None = None,
    ) -> None:
        super().__init__(model)
        self.sees: Sequence[str] = sees.split("+")
        for part in self.sees:
            if part not in SEES:
                raise ValueError(f"sees={sees!r}; legal are {', '.join(SEES)}, joined by +{near(part, SEES)}")
        if form not in _FORMS:
            raise ValueError(f"form={form!r}; legal are {', '.join(_FORMS)}{near(form, _FORMS)}")
        self.form, self.history, self.budget, self.documents = form, history, budget, documents
        self.shown = {"screenshot" if part == "som" else part for part in self.sees}
        self.programs = self._system = ""
        self._window: HistoryWindow | None = None

    def env_options(self) -> dict[str, Any]:
        """See ``LLMAgent.env_options``."""
        return {
            "action": self.form,
            "observation": tuple(sorted(self.shown | {"instruction", "feedback"})),
            "invalid_action": "feedback",
        }

    def wrap(self, env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
        """See ``LLMAgent.wrap``."""
        if "som" in self.sees:
            env = SetOfMark(env)
        if "a11y" in self.sees:
            env = AccessibilityText(env, budget=self.budget, unit="tokens")
        if self.documents is not None:
            from deskgym.wrappers.observation.retrieved_context import RetrievedContext

            env = RetrievedContext(env, self.documents)
        parts = [*sorted(self.shown), *(["marks"] if "som" in self.sees else [])]
        self._window = HistoryWindow(ExecutionFeedback(env), k=self.history, parts=parts, form="messages")
        return self._window

    def begin(self, observation: Any, info: Any) -> None:
        """See ``LLMAgent.begin``."""
        inner = machine_env(self.env)
        assert isinstance(inner, DesktopEnv)  # a HistoryWindow has no other inside
        width, height = inner.screen_size
        self.programs = ", ".join(needs_of(inner.task).programs) if inner.task is not None else ""
        self._system = prompt(
            "gui", width=width, height=height, programs=self.programs, shown=self.shown, marks="som" in self.sees,
            form=self.form,
        )  # fmt: skip

    def next_action(self, observation: Any) -> str:
        """See ``LLMAgent.next_action``: the whole response; ``ExecutionFeedback`` takes it apart."""
        if self._window is None:
            raise gymnasium.error.ResetNeeded("wrap() the env before reset()")
        reply = self.ask(self._window.messages(self._system))
        return reply.text
