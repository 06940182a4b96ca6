"""ExecutionFeedback: a step is a whole response of a language model, and the feedback says what of it failed."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium import spaces

from deskgym.envs.action.actions import Action
from deskgym.envs.action.spaces import ComputerActionSpace, action_from_sample
from deskgym.envs.errors import ActionError
from deskgym.envs.observation.texts import TEXT_LENGTHS, code_feedback, cut_text
from deskgym.envs.options import checked_after
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers.action.responses import Unreadable, code_actions, computer_actions
from deskgym.wrappers.base import DesktopWrapper
from deskgym.wrappers.recording.record_episode import action_json

MAX_RESPONSE = 131072  # characters: about 32,000 tokens
MODES = ("corrected", "paper")
NOTHING_FOUND = "No valid action detected from your previous response."
FAILURES = "Here are the failed actions and their execution feedbacks of your last response:"


class ResponseSpace(UnicodeText):
    """The responses of a language model: any text. A sample is a sample of the inner action space in a fence."""

    def __init__(self, inner: spaces.Space[Any], language: str) -> None:
        super().__init__(MAX_RESPONSE)
        self.inner, self.language = copy.deepcopy(inner), language

    def seed(self, seed: Any = None) -> Any:
        """Seed the samples; see ``gymnasium.Space.seed``."""
        self.inner.seed(seed)
        return super().seed(seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A response with one random action."""
        if mask is not None or probability is not None:
            raise ValueError("ResponseSpace cannot sample with a mask: it has no list of characters to mask")
        action = self.inner.sample()
        if isinstance(self.inner, ComputerActionSpace):
            action = action_from_sample(action).to_dict()
        text = action if isinstance(action, str) else json.dumps(action, default=_plain, ensure_ascii=False)
        return f"```{self.language}\n{text}\n```"


class ExecutionFeedback(DesktopWrapper):
    r"""Makes a step one response of a language model, and its feedback that of the papers.

    A response is a text with fenced blocks (see ``deskgym.wrappers.action.responses``), an action or a list of actions,
    in the form of the env inside or as ``Action``. Its actions are carried out one after the other until the episode
    ends. The observation is the last one, the reward the sum. Each action is a step of the env inside, and so counts
    towards its step limit (the papers count responses: set ``max_steps`` higher where they shall be long); a response
    of which nothing could be carried out counts as one.

    The observation's ``feedback`` (added where there is none) is Spider2-V's execution feedback
    (``add_action_infos`` of its ``agent.py``) without the closing request to read it: it is empty unless an action
    failed, wrote to stderr or was not found. What succeeded and printed is only in the info.

    ``info["executions"]`` has a dict for each action of the response: ``action`` (as JSON), ``status`` (``"success"``,
    ``"error"``, ``"skipped"``, or ``"fault"`` where the machine broke), ``stdout``, ``stderr`` and ``message`` (why it
    did not succeed; else empty). An ``ActionError`` is such an error, and the other actions go on.

    Args:
        env: an environment with ``action="code"`` or ``"computer"``.
        stop_on_failure: skip the rest of a response when an action of it failed.
        bare: take a response without a fence for one action.
        mode: ``"corrected"``, or ``"paper"`` for what the published code does, whose condition is inverted: when
            something failed it says that no action was found, and nothing when none was.

    Raises:
        ValueError: another action form or mode.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> from deskgym.wrappers import ExecutionFeedback
        >>> env = gym.make("deskgym/Science-v0", action="code")  # doctest: +SKIP
        >>> env = ExecutionFeedback(env)  # doctest: +SKIP
        >>> observation, *_, info = env.step("I type.\n```python\npyautogui.write('x')\n```")  # doctest: +SKIP
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        *,
        stop_on_failure: bool = False,
        bare: bool = False,
        mode: str = "corrected",
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, stop_on_failure=stop_on_failure, bare=bare, mode=mode)
        super().__init__(env)
        if mode not in MODES:
            raise ValueError(f"mode={mode!r}; legal are {', '.join(map(repr, MODES))}")
        self.form = self.desktop.actions.name
        if self.form not in ("code", "computer"):
            raise ValueError(f"ExecutionFeedback is for action='code' and action='computer'; it is {self.form!r}")
        self.stop_on_failure, self.bare, self.mode = stop_on_failure, bare, mode
        parts = self.parts()
        self._length = getattr(parts.get("feedback"), "max_length", TEXT_LENGTHS["feedback"])
        self.observation_space = spaces.Dict(parts | {"feedback": UnicodeText(self._length)})
        self.action_space = ResponseSpace(env.action_space, "python" if self.form == "code" else "json")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env; there is no feedback yet."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation | {"feedback": ""}, info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out a response: a text, an action, or a list of actions."""
        executions: list[dict[str, Any]] = []
        outcome = None
        total, skip = 0.0, False
        for item in self._actions(action):
            if skip:
                executions.append(_execution(item, "skipped"))
                continue
            try:
                if isinstance(item, Unreadable):
                    raise ActionError(item.reason)
                outcome = self.env.step(item)
            except ActionError as error:
                executions.append(_execution(item, "error", message=str(error)))
            else:
                executions.append(_read(item, outcome[4]))
                total += float(outcome[1])
            over = outcome is not None and (outcome[2] or outcome[3])
            skip = over or (self.stop_on_failure and executions[-1]["status"] == "error")
        if outcome is None:
            outcome = self.env.step(self._nothing())
            total = float(outcome[1])
        observation, _, terminated, truncated, info = outcome
        observation = observation | {"feedback": cut_text(self._feedback(executions), self._length)}
        return observation, total, terminated, truncated, info | {"executions": executions}

    def _actions(self, response: Any) -> Sequence[Any]:
        if isinstance(response, (list, tuple)):
            return response
        if not isinstance(response, str):
            return [response]
        return (code_actions if self.form == "code" else computer_actions)(response, bare=self.bare)

    def _nothing(self) -> Any:
        """The action that does nothing, for a look at the screen that counts as a step."""
        return "WAIT 0" if self.form == "code" else Action("wait", seconds=0.0)

    def _feedback(self, executions: Sequence[Mapping[str, Any]]) -> str:
        shown = [e for e in executions if e["status"] == "error" or e["stderr"].strip()]
        if self.mode == "paper":
            return f"{FAILURES}\n\n{NOTHING_FOUND}\n" if shown else ""
        if not executions:
            return NOTHING_FOUND
        if not shown:
            return ""
        lines = [FAILURES, *map(_report, shown)]
        skipped = sum(e["status"] == "skipped" for e in executions)
        if skipped:
            lines.append(f"\nNot carried out: the last {skipped} of {len(executions)} actions.")
        return "\n".join(lines)


def _plain(value: Any) -> Any:
    """A NumPy value of a sample as JSON takes it."""
    return value.tolist()


def _execution(action: Any, status: str, stdout: str = "", stderr: str = "", message: str = "") -> dict[str, Any]:
    shown = action.text if isinstance(action, Unreadable) else action_json(action)
    return {"action": shown, "status": status, "stdout": stdout, "stderr": stderr, "message": message}


def _read(action: Any, info: Mapping[str, Any]) -> dict[str, Any]:
    """What became of an action that the env took."""
    if "fault" in info:
        return _execution(action, "fault", message=info["fault"]["message"])
    if "invalid_action" in info:
        return _execution(action, "error", message=info["invalid_action"])
    result: Mapping[str, Any] = info.get("execution") or {}
    stdout, stderr = str(result.get("stdout", "")), str(result.get("stderr", ""))
    if result.get("status") or result.get("timed_out"):
        return _execution(action, "error", stdout, stderr, code_feedback({**result, "stdout": ""}))
    return _execution(action, "success", stdout, stderr)


def _report(execution: Mapping[str, Any]) -> str:
    """An action that failed, or wrote to stderr, as the model reads it."""
    action = execution["action"]
    if isinstance(action, str):
        shown = f"Parsed action:\n```\n{action}\n```"
    else:
        shown = f"Parsed action: {json.dumps(action, ensure_ascii=False)}"
    if execution["status"] == "error":
        flag = f"Failed with error message -> {execution['message'].strip()}"
    else:
        flag = f"Succeed with error message -> {execution['stderr'].strip()}"
    return f"\n{shown}\nExecution flag: {flag}"
