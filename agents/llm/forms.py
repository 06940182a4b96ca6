"""The inverse of each agent's parser: an action as a model that plays this agent would say it. For tests alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from deskgym.agents.llm.base import LLMAgent
from deskgym.agents.llm.grounding import FRAMES
from deskgym.agents.llm.seeact import SeeActAgent
from deskgym.agents.llm.table import TableAgent
from deskgym.envs.action.actions import STOPS, Action, to_pyautogui

Json = dict[str, Any]
Next = Callable[[], Any]
Form = Callable[[Any, Next, Mapping[str, Any], str], Json]

_PLACE = re.compile(r"the place \((\d+), (\d+)\)")
_CALL = re.compile(r"pyautogui\.\w+\((\d+), (\d+)")
_ids = count(1)


def answer_in_form(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str, wrong: bool = False) -> Json:
    """What a model would say to do the oracle's next action.

    Args:
        agent: who asks.
        take: gives that action.
        body: the request.
        role: which part of the agent asks.
        wrong: call a tool, or use a word, that there is not.

    Returns:
        ``text``, and ``parts`` in the service's own form where a tool is called.

    Raises:
        LookupError: there is no form for such an agent.
    """
    if wrong:
        return {"text": '```json\n{"action": "reward", "value": 1}\n```'}
    if role == "grounder":
        return _point(agent, body)
    if agent.name not in FORMS:
        raise LookupError(f"no form is known of the agent {agent.name!r}")
    return FORMS[agent.name](agent, take, body, role)


def fenced(action: Any) -> str:
    """An action in a block: a program, JSON, or a word."""
    if _is_word(action):
        return f"```{to_pyautogui(action)}```"
    if isinstance(action, Action):
        return f"```json\n{json.dumps(action.to_dict(), ensure_ascii=False)}\n```"
    return f"```python\n{action}\n```"


def _is_word(action: Any) -> bool:
    return isinstance(action, Action) and action.verb in (*STOPS, "wait")


def _gui(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str) -> Json:
    return {"text": f"I see the screen. I take the next step.\n{fenced(take())}"}


def _seeact(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str) -> Json:
    action = agent.__dict__.pop("_left_over", None) or take()
    if action.verb == "type" and action.text.endswith("\n"):  # a block has no line's end at its end
        action, agent.__dict__["_left_over"] = replace(action, text=action.text[:-1]), Action("press", keys=("enter",))
        if not action.text:
            action = agent.__dict__.pop("_left_over")
    return {"text": f"I take the next step.\n```\n{_step(action)}\n```"}


def _step(action: Action) -> str:
    """An action in the planner's words; a place is told by its pixel, which the grounder is then asked for."""
    place = f"the place ({action.x}, {action.y})" if action.x is not None else "the place where the pointer is"
    held = f" HOLDING {'+'.join(action.keys)}" if action.keys else ""
    if _is_word(action):
        return to_pyautogui(action)
    if action.verb == "click":
        clicks = {2: "DOUBLE ", 3: "TRIPLE "}.get(action.clicks, "")
        return f"{clicks or {'right': 'RIGHT ', 'middle': 'MIDDLE '}.get(action.button, '')}CLICK {place}{held}"
    if action.verb == "drag":
        return f"DRAG {place} TO the place ({action.to_x}, {action.to_y}){held}"
    if action.verb == "scroll":
        way, amount = _way(action)
        return f"SCROLL {way.upper()} {amount}" + (f" AT {place}" if action.x is not None else "")
    if action.verb == "move":
        return f"MOVE TO {place}"
    if action.verb == "type":
        return f"TYPE {action.text}"
    if action.verb == "press":
        return f"PRESS {'+'.join(action.keys)}"
    raise LookupError(f"the planner has no words for {action.to_dict()}")


def _disentangled(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str) -> Json:
    action = take()
    if _is_word(action):
        return {"text": fenced(action)}
    lines: list[str] = []
    for line in action.splitlines():
        if found := _CALL.match(line):
            lines += [f"# the place ({found[1]}, {found[2]})", line.replace(f"({found[1]}, {found[2]}", "(_, _", 1)]
        else:
            lines.append(line)
    return {"text": fenced("\n".join(lines))}


def _point(agent: LLMAgent, body: Mapping[str, Any]) -> Json:
    """The grounder's answer: the pixel that stands in the question, in its own frame."""
    if not isinstance(agent, SeeActAgent):
        raise LookupError(f"the agent {agent.name!r} has no grounder")
    found = _PLACE.search(json.dumps(body["messages"][-1]))
    if found is None:
        raise LookupError("the question names no place")
    extent, size = FRAMES[agent.grounder.frame], agent.env.unwrapped.screen_size
    numbers = [
        number if extent is None else (number + 0.5) / side * extent
        for number, side in zip(map(int, found.groups()), size, strict=True)
    ]
    return {"text": "({}, {})".format(*(format(number, ".6g") for number in numbers))}


def _table(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str) -> Json:
    if role == "reflection":
        return {"text": "<pseudocode>\ntake the table; compute\n</pseudocode>"}
    assert isinstance(agent, TableAgent)  # FORMS says so
    blocks: list[str] = []
    while True:
        action = str(take())
        is_end = action.split(maxsplit=1)[:1] in (["DONE"], ["FAIL"], ["ANS"])
        blocks.append(f"```{action}```" if is_end else fenced(action))
        if is_end or agent.style == "react":
            return {"text": "First the outline.\n" + "\n".join(blocks)}


def _text(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str) -> Json:
    return {"text": str(take())}


def _prover(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str) -> Json:
    action = str(take())
    return {"text": f"```json\n{action}\n```" if action.startswith("{") else f"```{action}```"}


def _computer_use(agent: LLMAgent, take: Next, body: Mapping[str, Any], role: str) -> Json:
    action: Action = take()
    is_openai = agent.model.settings.api == "responses"
    if action.verb in STOPS:
        words = action.text if action.verb == "answer" else action.verb.upper()
        return {"text": words}
    if is_openai:
        calls = [{"type": "computer_call", "call_id": f"call_{next(_ids)}", "action": each, "pending_safety_checks": []}
                 for each in _openai(action)]  # fmt: skip
    else:
        calls = [{"type": "tool_use", "id": f"tool_{next(_ids)}", "name": "computer", "input": each}
                 for each in _anthropic(action)]  # fmt: skip
    return {"text": "", "parts": calls}


def _openai(action: Action) -> list[Json]:
    at = {"x": action.x, "y": action.y} if action.x is not None else {}
    held = {"keys": list(action.keys)} if action.keys else {}
    if action.verb == "click":
        button = {"middle": "wheel"}.get(action.button, action.button)
        single = {"type": "click", **at, "button": button, **held}
        double = {"type": "double_click", **at, **held}
        return {1: [single], 2: [double], 3: [double, single]}[action.clicks]
    if action.verb == "drag":
        return [{"type": "drag", "path": [at, {"x": action.to_x, "y": action.to_y}], **held}]
    if action.verb == "scroll":
        return [{"type": "scroll", **at, "scroll_x": action.dx * 100, "scroll_y": action.dy * 100, **held}]
    if action.verb == "press":
        return [{"type": "keypress", "keys": list(action.keys)}]
    if action.verb in ("move", "type", "wait"):
        return [{"type": action.verb} | (at if action.verb == "move" else {"text": action.text} if action.text else {})]
    raise LookupError(f"OpenAI's tool has nothing for {action.to_dict()}")


def _anthropic(action: Action) -> list[Json]:
    at = {"coordinate": [action.x, action.y]} if action.x is not None else {}
    held = {"text": "+".join(action.keys)} if action.keys else {}
    if action.verb == "click":
        name = {2: "double_click", 3: "triple_click"}.get(action.clicks, f"{action.button}_click")
        return [{"action": name, **at, **held}]
    if action.verb == "drag":
        return [{"action": "left_click_drag", "start_coordinate": [action.x, action.y],
                 "coordinate": [action.to_x, action.to_y], **held}]  # fmt: skip
    if action.verb == "scroll":
        way, amount = _way(action)
        return [{"action": "scroll", "scroll_direction": way, "scroll_amount": amount, **at, **held}]
    if action.verb == "press":
        return [{"action": "key", "text": "+".join(action.keys)}]
    if action.verb == "type":
        return [{"action": "type", "text": action.text}]
    if action.verb == "wait":
        return [{"action": "wait", "duration": action.seconds}]
    if action.verb == "move":
        return [{"action": "mouse_move", **at}]
    if action.verb == "hold":
        return [{"action": "hold_key", "text": "+".join(action.keys), "duration": action.seconds}]
    raise LookupError(f"Anthropic's tool has nothing for {action.to_dict()}")


def _way(action: Action) -> tuple[str, int]:
    """Where a scroll goes, and how far."""
    ways = {"down": action.dy, "up": -action.dy, "right": action.dx, "left": -action.dx}
    return max(ways.items(), key=lambda item: item[1])


FORMS: dict[str, Form] = {
    "gui": _gui, "seeact": _seeact, "disentangled": _disentangled, "table": _table, "procedures": _text,
    "proving": _prover, "computer_use": _computer_use,
}  # fmt: skip
"""By the agents' names."""
