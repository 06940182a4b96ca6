"""ProverAgent: plays tactics in a prover's text REPL, as in ScienceBoard's Raw tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deskgym.agents.llm.base import LLMAgent, machine_env
from deskgym.agents.llm.prompts import prompt
from deskgym.wrappers.action.responses import fenced_blocks
from deskgym.wrappers.observation.messages import Message, message


class ProverAgent(LLMAgent):
    """Sees the theorem, all tactics so far and the open goals; each turn is a fresh question."""

    name = "proving"

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """See ``LLMAgent.begin``."""
        task = machine_env(self.env).task
        programs = getattr(getattr(task, "needs", None), "programs", ()) or ("a proof assistant",)
        self._system: Message = message("system", [prompt("prover", prover=", ".join(programs))])

    def next_action(self, observation: Any) -> str:
        """See ``LLMAgent.next_action``."""
        texts = [f"{name}:\n{value}" for name, value in observation.items() if isinstance(value, str) and value]
        said = self.ask([self._system, message("user", texts)]).text
        blocks = fenced_blocks(said) or [said.strip()]
        return _last_object(blocks[-1])


def _last_object(text: str) -> str:
    """A text as an action: without what stands around its JSON object."""
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        try:
            return json.dumps(json.loads(text[start : end + 1]), ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    return text.strip()
