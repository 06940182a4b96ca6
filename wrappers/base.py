"""What deskgym's wrappers have in common.

Three rules let them be put around each other in any order:

- An ``Action`` is in pixels of the real screen, always: every wrapper passes it on untouched. Any other form (a dict,
  JSON, a sample of the space) is in the frame of the wrapper that gets it, and is translated for the one inside.
- What a wrapper needs of the desktop it reads from ``self.desktop``, not from the observation, which another wrapper
  may have changed: ``desktop.elements``, ``desktop.performed``, ``desktop.task``, ``desktop.screen_size``, and
  the parts that it is made of: ``desktop.actions``, ``desktop.observer``, ``desktop.episodes``.
- A part of the observation that is not there is an error when the wrapper is built, not in ``step``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium
from gymnasium import spaces

from deskgym.envs.branching import kept_by
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import near
from deskgym.envs.machine_env import MachineEnv
from deskgym.envs.options import checked, plain


class MachineWrapper(
    gymnasium.Wrapper[dict[str, Any], Any, dict[str, Any], Any], gymnasium.utils.RecordConstructorArgs
):
    """A wrapper of any environment on a machine, however deep inside it is.

    A subclass that takes arguments calls ``RecordConstructorArgs.__init__(self, ...)`` with all of them before this
    one, so that a spec can build it again. A copy or a pickle is built again too, around that of what is inside: a
    DesktopEnv's is a fresh one, which must be told again what a wrapper asks of it (``guards``, ``reads_elements``).

    Attributes:
        wraps: the kind of environment that it needs inside; a subclass may ask for a narrower one.
        inner: the environment itself, without wrappers.

    Raises:
        TypeError: it is of another kind.
    """

    wraps: type[Any] = MachineEnv

    @checked
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)  # does nothing where a subclass has recorded its own
        self._saved_kwargs = plain(self._saved_kwargs)  # as they come back from a spec's JSON
        super().__init__(env)
        if not isinstance(env.unwrapped, self.wraps):
            raise TypeError(f"{type(self).__name__} wraps a {self.wraps.__name__}, got {type(env.unwrapped).__name__}")
        self.inner: MachineEnv = env.unwrapped

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._saved_kwargs), (self.env,)

    def memory(self) -> dict[str, Any]:
        """What it keeps of an episode, for a saved state: all its attributes, but for what it is made of."""
        return kept_by(self)

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Keep what ``memory`` gave, of a state that has just been restored: ``reset`` was called before."""
        vars(self).update(memory)


class DesktopWrapper(MachineWrapper):
    """A wrapper of a ``DesktopEnv``, however deep inside it is; see ``MachineWrapper``.

    Attributes:
        desktop: the DesktopEnv.

    Raises:
        TypeError: there is no DesktopEnv inside.
    """

    wraps = DesktopEnv

    def __init__(self, env: gymnasium.Env[dict[str, Any], Any]) -> None:
        super().__init__(env)
        self.desktop: DesktopEnv = env.unwrapped  # type: ignore[assignment]

    def parts(self) -> dict[str, spaces.Space[Any]]:
        """The parts of the observation space of what is inside, as a dict of its own."""
        if not isinstance(self.env.observation_space, spaces.Dict):
            kind = type(self.env.observation_space).__name__
            raise ValueError(
                f"{type(self).__name__} needs an observation of named parts; what is inside gives a {kind}"
            )
        return dict(self.env.observation_space.spaces)

    def require(self, part: str) -> spaces.Space[Any]:
        """The space of one part of the observation.

        Raises:
            ValueError: what is inside does not give it.
        """
        parts = self.parts()
        if part not in parts:
            raise ValueError(
                f"{type(self).__name__} needs the observation {part!r}; what is inside gives {', '.join(parts)}"
                f"{near(part, parts)}; add it to observation=(...)"
            )
        return parts[part]
