"""ComputerUseAgent: a model that was trained with its vendor's computer tool, spoken to as the vendor wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium

from deskgym.agents.llm.base import LLMAgent, machine_env
from deskgym.agents.llm.prompts import prompt
from deskgym.agents.llm.settings import ContextOverflow
from deskgym.envs.action.actions import Action
from deskgym.envs.episode import needs_of
from deskgym.envs.errors import near
from deskgym.wrappers.action.anthropic_computer_use import SCHEMAS, AnthropicComputerUse
from deskgym.wrappers.action.openai_computer_use import VERSIONS, OpenAIComputerUse
from deskgym.wrappers.observation.messages import Message, message

if TYPE_CHECKING:
    from deskgym.agents.llm.model import Model

_OLD = "(An older screenshot stood here.)"


class ComputerUseAgent(LLMAgent):
    """Plays with OpenAI's computer tool (``api="responses"``) or Anthropic's (``api="anthropic"``).

    Args:
        model: that is asked; its ``api`` says whose tool it is given.
        version: of the tool; None takes ``"computer_use_preview"`` or ``"computer_20250124"``.
        display: width and height that the model is told of, such as ``[1280, 800]``; None takes the screen's.
        screenshots: of Anthropic's chat, how many of the latest are kept; a text stands where an older one was.
            OpenAI's service keeps the conversation itself, and shortens it.

    Raises:
        ValueError: an argument is not legal, or the model's API has no computer tool.
    """

    name = "computer_use"
    gives_up = Action("done")

    def __init__(
        self,
        model: Model,
        version: str | None = None,
        display: tuple[int, int] | None = None,
        screenshots: int = 10,
    ) -> None:
        super().__init__(model)
        api = model.settings.api
        legal = {"responses": VERSIONS, "anthropic": tuple(SCHEMAS)}.get(api)
        if legal is None:
            raise ValueError(f"api={api!r} has no computer tool; legal are responses (OpenAI's) and anthropic")
        if version is not None and version not in legal:
            raise ValueError(f"version={version!r}; legal are {', '.join(legal)}{near(version, legal)}")
        if screenshots < 1:
            raise ValueError(f"screenshots={screenshots!r}; legal is a whole number from 1 up")
        self.is_openai = api == "responses"
        self.version = version or ("computer_use_preview" if self.is_openai else "computer_20250124")
        self.display, self.screenshots = display, screenshots
        self._tool: OpenAIComputerUse | AnthropicComputerUse | None = None
        self._chat: list[dict[str, Any]] = []
        self._system: list[Message] = []
        self._previous: str | None = None

    def env_options(self) -> dict[str, Any]:
        """See ``LLMAgent.env_options``."""
        shown = ("screenshot", "instruction", "feedback")
        return {"action": "computer", "observation": shown, "invalid_action": "feedback"}

    def wrap(self, env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
        """See ``LLMAgent.wrap``."""
        kind = OpenAIComputerUse if self.is_openai else AnthropicComputerUse
        self._tool = kind(env, version=self.version, display=self.display, answers=True)
        return self._tool

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """See ``LLMAgent.begin``."""
        task = machine_env(self.env).task
        programs = ", ".join(needs_of(task).programs) if task is not None else ""
        self._system = [message("system", [prompt("computer_use", programs=programs)])]
        self._chat, self._previous = [], None

    def next_action(self, observation: Any) -> Any:
        """See ``LLMAgent.next_action``: the parts of the answer, which the tool's wrapper carries out."""
        if self._tool is None:
            raise gymnasium.error.ResetNeeded("wrap() the env before reset()")
        shown = self._tool.output(observation)
        if isinstance(self._tool, OpenAIComputerUse):
            # the system's words are not kept with a conversation, and are said again
            extra: dict[str, Any] = {"previous_response_id": self._previous} if self._previous else {}
            reply = self.ask(self._system, tools=[self._tool.tool], input=shown, truncation="auto", **extra)
            self._previous = reply.id
            return list(reply.parts)
        self._chat.append({"role": "user", "content": shown})
        _leave_out(self._chat, self.screenshots)
        betas: dict[str, Any] = {"headers": {"anthropic-beta": ",".join(self._tool.betas)}} if self._tool.betas else {}
        dropped = 0
        while True:
            try:
                reply = self.ask(self._system, tools=[self._tool.tool], messages_after=self._chat, **betas)
                break
            except ContextOverflow:
                if len(self._chat) < 3:
                    raise
                del self._chat[1:3]  # the oldest call, and what came of it
                dropped += 1
        self.dropped = dropped
        self._chat.append({"role": "assistant", "content": list(reply.parts)})
        return list(reply.parts)


def _leave_out(chat: list[dict[str, Any]], keep: int) -> None:
    """Put a text in the place of all but the last screenshots of a chat."""
    left = keep
    for said in reversed(chat):
        if said["role"] != "user":
            continue
        for block in reversed(said["content"]):
            parts = block["content"] if block["type"] == "tool_result" else said["content"]
            for k, part in enumerate(parts):
                if part["type"] == "image":
                    left -= 1
                    if left < 0:
                        parts[k] = {"type": "text", "text": _OLD}
