"""An agent whose actions a person gives, in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gymnasium

    from deskgym.viewer.play_server import PlayServer


class Person:
    """Shows an episode on a page, and waits for what is done there.

    Args:
        page: where; it stays the caller's.
    """

    def __init__(self, page: PlayServer) -> None:
        self.page, self._step = page, 0

    def reset(self, env: gymnasium.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """See ``Agent.reset``."""
        unwrapped: Any = env.unwrapped
        self._step, current = 0, unwrapped.episodes.current
        self.page.show(None, task=current.id, instruction=observation["instruction"], of=unwrapped.episodes.step_limit)

    def act(self, observation: Any) -> Mapping[str, Any]:
        """See ``Agent.act``: what the person does next."""
        self.page.show(observation["screenshot"], step=self._step, feedback=observation.get("feedback", ""), over=False)
        self._step += 1
        return self.page.next()
