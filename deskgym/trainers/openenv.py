"""OpenEnv: a desktop, or conversations about tables, behind OpenEnv's WebSocket server, and its client.

Each connection is a session with an env of its own, whose machine starts with the first reset and stops when the
connection ends. Written for openenv-core 0.3.

Examples:
    Serve with ``uvicorn --factory deskgym.trainers.openenv:app`` or, with options, from a module of your own::

        app = create_desktop_app("deskgym/Science-v0", action="code", max_concurrent_envs=8)

    and play from anywhere::

        with DesktopClient(base_url="http://localhost:8000").sync() as env:
            result = env.reset(task="kalgebra/plot-2d", split="train", seed=7)
            result = env.step(DesktopAction(action="pyautogui.click(300, 150)"))
            result = env.step(DesktopAction(action="DONE"))
            print(result.reward, result.observation.fault)
"""

# mypy: disable-error-code="import-untyped,import-not-found,misc,no-any-return"
# (openenv-core has no types, so all that comes of it is Any)

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

import cv2
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from deskgym import __version__
from deskgym.envs.extras import needs_extra
from deskgym.envs.options import checked
from deskgym.trainers.session import Session, is_conversation

with needs_extra("openenv", "OpenEnv needs"):
    from fastapi import FastAPI
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import (
        Action,
        ConcurrencyConfig,
        EnvironmentMetadata,
        Observation,
        State,
    )
    from pydantic import Field
    from websockets.exceptions import ConnectionClosed

PNG_LEVEL = 1  # a desktop's picture gets hardly smaller with more, and takes much longer


class DesktopAction(Action):
    """One action, in the server's form."""

    action: str | dict[str, Any] | list[int] = Field(
        description='For action="code" Python with pyautogui, or one of the words WAIT, DONE, FAIL, ANS text; about '
        'tables Python, ASK question, ANS letter, DONE, FAIL; for action="computer" a dict such as '
        '{"action": "click", "x": 10, "y": 20}; for action="discrete" three numbers.'
    )


class DesktopObservation(Observation):
    """What the agent sees, and how the episode stands. Parts that the server's env does not observe are None."""

    screenshot: str | None = Field(None, description="the screen as a PNG file in base64")
    instruction: str | None = Field(None, description="what the agent is asked")
    a11y: str | None = Field(None, description="the accessible elements, one tab-separated row each")
    terminal: str | None = Field(None, description="what the terminal windows show")
    dialogue: str | None = Field(None, description="of a conversation about tables: what was said and run so far")
    tables: str | None = Field(None, description="the tables' columns and first rows")
    library: str | None = Field(None, description="documentation of the private library")
    plot: str | None = Field(None, description="the current figure as a PNG file in base64; white where there is none")
    context: str | None = Field(None, description="documents about the task")
    feedback: str | None = Field(None, description="what the last action printed, or why it was not legal")
    vocabulary: str | None = Field(None, description="the words and keys of discrete actions")
    elements: list[list[int]] | None = Field(None, description="the accessible elements as numbers, without padding")
    more: dict[str, Any] = Field(default_factory=dict, description="parts that wrappers add; arrays as lists")
    task: str | None = Field(None, description="the task instance, such as kalgebra/plot-2d#7")
    step: int = Field(0, description="how many steps the agent has taken")
    truncated: bool = Field(False, description="done at a limit or by a fault, not by the agent")
    verdict: dict[str, Any] | None = Field(None, description="how the finished episode was evaluated, check by check")
    fault: dict[str, str] | None = Field(
        None,
        description="what broke, and the episode is done; where its cause is 'infrastructure', the reward is None: "
        "leave the episode out; where it is 'agent', the reward is 0",
    )


class DesktopState(State):
    """Where the session stands; ``episode_id`` and ``step_count`` are OpenEnv's."""

    task: str | None = None
    split: str | None = None
    over: bool = True
    faults: int = 0


class DesktopEnvironment(Environment[DesktopAction, DesktopObservation, DesktopState]):
    """A desktop as an OpenEnv environment. Building one starts nothing; ``reset`` starts the machine.

    Sessions may run side by side: each env has a machine of its own, and OpenEnv gives each session its thread.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        options: of the env, such as ``task``, ``action`` (default ``"code"``), ``observation`` (default of a desktop
            a11y, instruction and feedback), ``screen_size``, ``invalid_action`` (default ``"feedback"``).

    Raises:
        ValueError: an option is not legal.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    @checked
    def __init__(self, env_id: str | EnvSpec = "deskgym/Science-v0", **options: Any) -> None:
        super().__init__()
        if isinstance(env_id, str):  # an EnvSpec has settled them
            seen = {} if is_conversation(env_id) else {"observation": ("a11y", "instruction", "feedback")}
            options = {"action": "code", "invalid_action": "feedback", **seen, **options}
        self.session = Session(env_id, **options)
        self._episode_id: str | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: str | None = None,
        split: str | None = None,
        **kwargs: Any,
    ) -> DesktopObservation:
        """Begin an episode.

        Args:
            seed: draws the task and its parameters; equal seeds begin equal episodes.
            episode_id: a name of your own; one is made up otherwise.
            task: a task id, a glob, or an instance id such as ``"kalgebra/plot-2d#7"``.
            split: ``"train"``, ``"test"``, or None for the env's own.
            kwargs: there are no others.

        Raises:
            ValueError: an unknown argument.
            TaskError: no such task or split.
            SetupError, MachineError: the desktop could not be had; the client gets the message.
        """
        if kwargs:
            raise ValueError(f"unknown reset arguments {sorted(kwargs)}; legal are seed, episode_id, task and split")
        self._episode_id = episode_id or str(uuid.uuid4())
        self.session.reset(seed, task, split)
        return self._observation(None)

    def step(self, action: DesktopAction, timeout_s: float | None = None, **kwargs: Any) -> DesktopObservation:
        """Act; ``timeout_s`` is not read: the env's own limits hold.

        Raises:
            ActionError: the action is not legal (with ``invalid_action="raise"``).
            ResetNeeded: the episode is over.
        """
        before = self.session.reward
        self.session.step(action.action)
        after = self.session.reward
        return self._observation(None if after is None or before is None else after - before)

    @property
    def state(self) -> DesktopState:
        """Where the session stands."""
        desktop = self.session.desktop
        return DesktopState(
            episode_id=self._episode_id,
            step_count=int(self.session.info.get("step", 0)),
            task=desktop.task.id if desktop.task else None,
            split=desktop.task.split if desktop.task else None,
            over=self.session.over,
            faults=desktop.stats["faults"],
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Name and version."""
        spec = self.session.env.spec
        return EnvironmentMetadata(
            name=spec.id if spec else "deskgym", description="Real programs in a sandbox", version=__version__
        )

    def close(self) -> None:
        """Stop the machine. Idempotent."""
        self.session.close()

    def _observation(self, reward: float | None) -> DesktopObservation:
        session = self.session
        parts = {name: _plain(name, part) for name, part in session.observation.items()}
        known = {name: parts.pop(name) for name in list(parts) if name in _PARTS and _fits(name, parts[name])}
        return DesktopObservation(
            **known, more=parts, task=session.info.get("task"), step=session.info.get("step", 0), done=session.over,
            reward=reward, truncated=session.truncated, verdict=session.info.get("verdict"), fault=session.fault,
        )  # fmt: skip


_TEXTS = ("instruction", "a11y", "terminal", "dialogue", "tables", "library", "feedback", "vocabulary", "context")
_PICTURES = ("screenshot", "plot")
_PARTS = (*_TEXTS, *_PICTURES, "elements")


def _plain(name: str, part: Any) -> Any:
    """A part of the observation as JSON can hold it; what is inside of dicts and sequences, too."""
    if isinstance(part, Mapping):
        return {str(key): _plain("", value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_plain("", value) for value in part]
    if isinstance(part, np.generic):
        return part.item()
    if not isinstance(part, np.ndarray):
        return part
    if name in _PICTURES and part.dtype == np.uint8 and part.ndim == 3:
        return encode_png(part)
    if name == "elements" and part.ndim == 2 and part.any():
        part = part[: int(np.flatnonzero(part.any(axis=1))[-1]) + 1]
    return part.tolist()


def _fits(name: str, part: Any) -> bool:
    """Whether it is what the observation's field of that name holds; a wrapper may have made something else of it."""
    return isinstance(part, list) if name == "elements" else isinstance(part, str)


def encode_png(picture: NDArray[np.uint8]) -> str:
    """A picture, uint8 (height, width, 3) RGB, as a PNG file in base64."""
    ok, data = cv2.imencode(".png", picture[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, PNG_LEVEL])
    if not ok:
        raise ValueError(f"a picture of shape {picture.shape} cannot be written as PNG")
    return base64.b64encode(data.tobytes()).decode("ascii")


def decode_png(text: str) -> NDArray[np.uint8]:
    """The inverse of ``encode_png``: uint8 (height, width, 3) RGB."""
    picture = cv2.imdecode(np.frombuffer(base64.b64decode(text), np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise ValueError("not a PNG file in base64")
    return np.ascontiguousarray(picture[..., ::-1], np.uint8)


@checked
def create_desktop_app(
    env_id: str | EnvSpec = "deskgym/Science-v0",
    *,
    max_concurrent_envs: int = 4,
    session_timeout: float | None = 600.0,
    **options: Any,
) -> FastAPI:
    """The FastAPI app that serves desktops, for uvicorn.

    Play over the WebSocket ``/ws``, as ``DesktopClient`` does: OpenEnv's HTTP ``/reset`` and ``/step`` make a new env
    for each request, which holds no episode.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        max_concurrent_envs: how many sessions, so machines, at once.
        session_timeout: seconds without a message until a session ends; None is never.
        options: see ``DesktopEnvironment``.

    Raises:
        ValueError: an option is not legal.
    """
    factory = partial(DesktopEnvironment, env_id, **options)
    factory().close()
    limits = ConcurrencyConfig(max_concurrent_envs=max_concurrent_envs, session_timeout=session_timeout)
    return create_app(factory, DesktopAction, DesktopObservation, "deskgym", concurrency_config=limits)


def app() -> FastAPI:
    """The app of the defaults, for ``uvicorn --factory deskgym.trainers.openenv:app``."""
    return create_desktop_app()


class DesktopClient(EnvClient[DesktopAction, DesktopObservation, DesktopState]):
    """A session on a server of ``create_desktop_app``; ``.sync()`` for use without async."""

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            await super()._send(message)
        except ConnectionClosed:
            pass  # a server that is full says so and hangs up; what it said is still to be read, or reading raises

    def _step_payload(self, action: DesktopAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[DesktopObservation]:
        reward, done = payload.get("reward"), bool(payload.get("done", False))
        observation = DesktopObservation(**payload.get("observation", {}), reward=reward, done=done)
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> DesktopState:
        return DesktopState(**payload)
