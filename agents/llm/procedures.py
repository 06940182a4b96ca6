"""ProcedureAgent: answers WONDERBREAD's questions about recordings and procedures, in one answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.agents.llm.base import LLMAgent, machine_env
from deskgym.agents.llm.prompts import prompt
from deskgym.wrappers.observation.messages import Message, message


class ProcedureAgent(LLMAgent):
    """Answers at once; an answer that has not the form that is asked for is mended, as often as the task allows.

    What of a recording it sees is the environment's: ``--observation instruction,evidence`` leaves the pictures out,
    ``--shown intent`` and the others are the paper's ablations.
    """

    name = "procedures"
    kept = 1
    gives_up = "FAIL"

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """See ``LLMAgent.begin``."""
        count = len(getattr(machine_env(self.env).task, "pictures", ()))
        frames = observation.get("frames", ())[:count]
        texts = [observation[name] for name in ("evidence", "instruction") if observation.get(name)]
        self._chat: list[Message] = [
            message("system", [prompt("procedures", frames=len(frames) > 0)]), message("user", texts, list(frames)),
        ]  # fmt: skip

    def next_action(self, observation: Any) -> str:
        """See ``LLMAgent.next_action``."""
        if self._step:
            self._chat.append(message("user", [f"That cannot be read: {observation['feedback']}"]))
        reply = self.ask(self._chat)
        self._chat.append(message("assistant", [reply.text or "(nothing)"]))
        return reply.text
