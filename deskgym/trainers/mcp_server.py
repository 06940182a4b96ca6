"""An MCP server over one env: any client of the Model Context Protocol can play, and never hears of its reward.

Tools: ``reset``, ``observe``, ``act`` and ``finish``. Written for the package ``mcp`` 2.3.
"""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from PIL import Image as PILImage

from deskgym.envs.action.actions import Action
from deskgym.envs.errors import ActionError, DeskgymError, TaskError
from deskgym.envs.extras import needs_extra
from deskgym.trainers.session import Session

NOT_BEGUN = "There is no episode yet. Call reset to begin one."
OVER = "The episode is over. Call reset to begin another one."
_GUIDE = """\
You work with real software. Call reset to begin a task; it tells you what to do and shows what there is. Then call \
act, as often as you need, and finish at the end. The task's result is kept by whoever runs this server."""
_COMPUTER = """\
Do one thing with mouse or keyboard, and see the screen after it. The action is an object: \
{"action": "click", "x": 5, "y": 6, "button": "left", "clicks": 1}, {"action": "drag", "x": 5, "y": 6, "to_x": 7, \
"to_y": 8}, {"action": "scroll", "x": 5, "y": 6, "dy": 3}, {"action": "type", "text": "text"}, {"action": "press", \
"keys": ["ctrl", "s"]}, {"action": "wait", "seconds": 1}. x and y are pixels of the screenshot."""
_CODE = """\
Run Python in the computer, and see what it printed and the screen after it. `pyautogui` is imported. Elsewhere than \
on a desktop it is a kernel that keeps its variables."""

_TEXTS = {
    "answer": "Give the answer to the question, in the form that it asks for. That ends the episode.",
    "tactic": 'Play a tactic: {"tactic": "intros.", "proofState": 0}, or DONE when no goals are left.',
}
"""What ``act`` does in environments without a desktop, by their form of action."""

Told = Callable[[Mapping[str, Any]], None]


class Player:
    """What the tools do; one client at a time.

    Args:
        session: the episodes.
        told: called at the end of each episode with its ``task``, ``reward``, ``verdict`` and ``fault``.
        tell: whether ``finish`` says the reward too. An agent that hears it can try the same task until it is paid.
        tasks: a glob over ids: those that may be played; None for all.
    """

    def __init__(self, session: Session, told: Told, tell: bool = False, tasks: str | None = None) -> None:
        self.session, self.told, self.tell, self.tasks = session, told, tell, tasks
        self._lock = threading.Lock()
        self._begun = False

    def reset(self, task: str = "", seed: int | None = None) -> list[Any]:
        """Begin a task in a fresh computer, by its id or a glob; without one, it is drawn by the seed."""
        with self._lock:
            if task and self.tasks is not None:
                self._check(task)
            self._end()
            self.session.reset(seed=seed, task=task or None)
            self._begun = True
            return self._seen()

    def observe(self) -> list[Any]:
        """What the screen shows now, and the task. It takes no step."""
        with self._lock:
            return self._seen() if self._begun else [NOT_BEGUN]

    def act(self, action: Any) -> list[Any]:
        """One step."""
        with self._lock:
            if not self._begun or self.session.over:
                return [OVER if self._begun else NOT_BEGUN]
            try:
                self.session.step(action)
            except ActionError as error:
                return [f"That is not legal, and nothing was done: {error}", *self._seen()]
            if self.session.over:
                self._report()
                return [OVER]
            return self._seen()

    def finish(self, answer: str = "", impossible: bool = False) -> list[Any]:
        """End the task: it is done; or with the answer to its question; or it cannot be done."""
        with self._lock:
            if not self._begun or self.session.over:
                return [OVER if self._begun else NOT_BEGUN]
            form = self.session.action_form
            if impossible:
                self.session.step(Action("fail") if form == "computer" else "FAIL")
            elif answer and form != "tactic":
                said = {"computer": Action("answer", text=answer), "answer": answer}.get(form, f"ANS {answer}")
                self.session.step(said)
            else:
                self.session.step(self.session.desktop.done)
            if not self.session.over:  # the next turn of a dialogue
                return self._seen()
            self._report()
            return [f"{OVER} The reward is {self.session.reward}." if self.tell else OVER]

    def close(self) -> None:
        """End the episode, and the machine."""
        with self._lock:
            try:
                self._end()
            finally:
                self.session.close()

    def _check(self, task: str) -> None:
        """Raises TaskError where a task may not be played."""
        source = self.session.desktop.episodes.suite
        ids = source.ids()
        wanted = [each for each in ids if fnmatchcase(each, task.partition("#")[0])]
        legal = [each for each in ids if fnmatchcase(each, (self.tasks or "*").partition("#")[0])]
        if wanted and (not set(wanted) <= set(legal) or ("#" in (self.tasks or "") and task != self.tasks)):
            raise TaskError(f"{task!r} may not be played here; legal are {', '.join(legal[:20])}")

    def _end(self) -> None:
        """End the episode as it stands, evaluated."""
        if self._begun and not self.session.over:
            while not self.session.over:
                self.session.step(self.session.desktop.done)
            self._report()

    def _seen(self) -> list[Any]:
        """The parts of the observation: texts, and pictures as PIL images."""
        seen = self.session.observation
        texts = [f"{name}:\n{value}" for name, value in seen.items() if isinstance(value, str) and value]
        pictures = [value for name, value in seen.items() if name in ("screenshot", "plot")]
        return ["\n\n".join(texts), *(PILImage.fromarray(picture) for picture in pictures)]

    def _report(self) -> None:
        session = self.session
        self.told(
            {
                "task": session.desktop.task.id if session.desktop.task else None,
                "reward": session.reward,
                "verdict": session.info.get("verdict"),
                "fault": session.fault,
            }
        )


def make_server(player: Player) -> Any:
    """The server; ``server.run()`` serves on stdin and stdout, ``server.run("streamable-http", port=8000)`` over HTTP.

    Args:
        player: what its tools do.
    """
    with needs_extra("mcp", "a server of the Model Context Protocol needs"):
        from mcp.server import MCPServer
        from mcp.server.mcpserver import Image

    server = MCPServer("deskgym", instructions=_GUIDE)
    form = player.session.action_form

    def parts(found: list[Any]) -> list[Any]:
        return [Image(data=_png(part), format="png") if isinstance(part, PILImage.Image) else part for part in found]

    def safe(do: Callable[..., list[Any]], *given: Any) -> list[Any]:
        try:
            return parts(do(*given))
        except (DeskgymError, ValueError, TypeError) as error:  # the client's model is to read it, not its trace
            return [f"That did not work: {error}"]

    @server.tool(structured_output=False)
    def reset(task: str = "", seed: int | None = None) -> list[Any]:
        """Begin a task in a fresh computer, by its id or a glob over ids; without one, it is drawn by the seed."""
        return safe(player.reset, task, seed)

    @server.tool(structured_output=False)
    def observe() -> list[Any]:
        """See the task and the screen as they are. It takes no step."""
        return safe(player.observe)

    if form != "computer":

        @server.tool(name="act", description=_TEXTS.get(form, _CODE), structured_output=False)
        def act_by_code(code: str) -> list[Any]:
            return safe(player.act, code)

    else:

        @server.tool(name="act", description=_COMPUTER, structured_output=False)
        def act(action: dict[str, Any] | str) -> list[Any]:
            try:
                given = json.loads(action) if isinstance(action, str) else action
            except ValueError as error:
                return [f"The action is no JSON: {error}"]
            return safe(player.act, given)

    @server.tool(structured_output=False)
    def finish(answer: str = "", impossible: bool = False) -> list[Any]:
        """End the task: it is done; or with the answer to its question; or, with impossible, it cannot be done."""
        return safe(player.finish, answer, impossible)

    return server


def _png(picture: PILImage.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=1)
    return out.getvalue()
