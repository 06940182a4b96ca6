"""TableAgent: writes code for questions about tables, in the four ways of Tapilot-Crossing's paper."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deskgym.agents.constant import options
from deskgym.agents.llm.base import LLMAgent
from deskgym.agents.llm.prompts import prompt
from deskgym.envs.errors import near
from deskgym.wrappers.action.responses import code_actions, fenced_blocks
from deskgym.wrappers.observation.messages import Message, message

if TYPE_CHECKING:
    from deskgym.agents.llm.model import Model

STYLES = ("base", "cot", "react", "air")
"""One answer; an outline and one answer; up to five turns; one answer after the logic of what was done before."""
_TURNS = 5
_SHOWN = ("tables", "library", "dialogue", "instruction")
_ASK = re.compile(r"ASK[ \t]+\S")
_LOGIC = re.compile(r"<pseudocode>(.*?)</pseudocode>", re.DOTALL)
_CHOOSE = "Now answer with the letter of an option, in a block such as ```ANS A```."


class TableAgent(LLMAgent):
    """Answers a user's questions about tables.

    Args:
        model: that is asked.
        style: one of ``STYLES``.

    Raises:
        ValueError: there is no such style.
    """

    name = "table"
    kept = 1

    def __init__(self, model: Model, style: str = "react") -> None:
        super().__init__(model)
        if style not in STYLES:
            raise ValueError(f"style={style!r}; legal are {', '.join(STYLES)}{near(style, STYLES)}")
        self.style = style
        self._chat: list[Message] = []
        self._waiting: deque[str] = deque()
        self._asked, self._ran = "", False

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """See ``LLMAgent.begin``."""
        self._chat, self._asked = [], ""
        self._waiting.clear()

    def next_action(self, observation: Any) -> str:
        """See ``LLMAgent.next_action``."""
        if observation["instruction"] != self._asked:
            self._open(observation)
        elif self._waiting:
            return self._waiting.popleft()
        else:
            self._chat.append(message("user", [f"It gave:\n{observation['feedback'] or '(nothing)'}", self._then]))
        reply = self.ask(self._chat)
        self._chat.append(message("assistant", [reply.text or "(nothing)"]))
        self._waiting.extend(self._actions(reply.text))
        return self._waiting.popleft()

    def _open(self, observation: Any) -> None:
        """A turn of the conversation begins."""
        self._asked, self._ran = observation["instruction"], False
        self._waiting.clear()
        self._choice = bool(options(self._asked))
        system = prompt("table", style=self.style, turns=_TURNS, questions=self.style == "react", choice=self._choice)
        texts = [f"{name}:\n{observation[name]}" for name in _SHOWN if observation.get(name)]
        images = [observation["plot"]] if "plot" in observation and observation["plot"].any() else []
        if self.style == "air" and observation.get("dialogue"):
            past = [message("system", [prompt("reflection")]), message("user", [observation["dialogue"]])]
            said = self.ask(past, role="reflection").text
            found = _LOGIC.search(said)
            texts.insert(len(texts) - 1, f"logic:\n{(found[1] if found else said).strip()}")
        self._chat = [message("system", [system]), message("user", texts, images)]

    @property
    def _then(self) -> str:
        """What the model is told after its code has run."""
        return _CHOOSE if self._choice and self.style != "react" else ""

    def _actions(self, said: str) -> list[str]:
        """What an answer asks to be done: code, a question back, or an end. Never nothing."""
        found = code_actions(said)
        if asked := next((block for block in fenced_blocks(said) if _ASK.match(block)), None):
            return [asked]  # the rest waits for what the user says
        words = [each for each in found if _is_end(each)]
        code = [each for each in found if not _is_end(each)]
        if self.style == "react":
            return found[:1] or ["pass"]  # a turn without an action costs a step
        if words or (self._choice and not self._ran and code):
            self._ran = True
            return [*code, *words[:1]]
        return [*code, "DONE"]


def _is_end(action: str) -> bool:
    return action.split(maxsplit=1)[:1] in (["DONE"], ["FAIL"], ["ANS"])
