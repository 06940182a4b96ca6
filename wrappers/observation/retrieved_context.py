"""RetrievedContext: parts of the programs' documentation that fit the task, as a part of the observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium import spaces

from deskgym.envs.episode import needs_of
from deskgym.envs.observation.texts import cut_text
from deskgym.envs.options import checked_after
from deskgym.envs.text_space import UnicodeText
from deskgym.retrieval import Store, context_text
from deskgym.retrieval.store import TOP_K
from deskgym.wrappers.base import MachineWrapper

PART, LENGTH = "context", 65536


class RetrievedContext(MachineWrapper):
    r"""Adds the observation ``context``: what a store of documents has about the task, found by its instruction.

    It is drawn once, in ``reset``, as Spider2-V does before an episode; every observation of the episode has the same.
    A ``context`` that the environment gives itself, such as Spider2-V's own retrieved documents, is replaced.

    ``info["retrieved"]`` of ``reset`` lists the sources and titles.

    Args:
        env: any environment on a machine.
        store: folder of a store, made with ``deskgym documents build``.
        top_k: how many chunks.
        programs: search their documents only; left out, those of the task's programs, or all where the store has none
            of these.
        max_length: of the text, in characters; a longer one is cut in its middle, and says so.

    Raises:
        ValueError: there is no such store, it has no documents of a program of ``programs``, or the observation has no
            named parts.
        MissingLibrary: the extra ``retrieval`` is not installed.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> from deskgym.wrappers import RetrievedContext
        >>> env = gym.make("deskgym/DataEngineering-v0", task="calc/sort")  # doctest: +SKIP
        >>> env = RetrievedContext(env, "docs.store")  # doctest: +SKIP
        >>> env.reset(seed=1)[0]["context"]  # doctest: +SKIP
        'Documentation Source:\n...'
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        store: str,
        *,
        top_k: int = TOP_K,
        programs: Sequence[str] = (),
        max_length: int = LENGTH,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, store=store, top_k=top_k, programs=programs, max_length=max_length
        )
        super().__init__(env)
        if top_k < 1 or max_length < 1:
            raise ValueError(f"top_k={top_k}, max_length={max_length}; legal are numbers from 1")
        if not isinstance(env.observation_space, spaces.Dict):
            kind = type(env.observation_space).__name__
            raise ValueError(f"RetrievedContext needs an observation of named parts; what is inside gives a {kind}")
        self.store, self.top_k, self.programs = Store.open(store), top_k, tuple(programs)
        self.store.known(self.programs)
        self.max_length = max_length
        self.observation_space = spaces.Dict(dict(env.observation_space.spaces) | {PART: UnicodeText(max_length)})
        self._text = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env, and look up what fits its task."""
        observation, info = self.env.reset(seed=seed, options=options)
        task = self.inner.task
        found = []
        if task is not None:
            own = [name for name in needs_of(task).programs if name in self.store.programs]
            found = self.store.search(task.instruction, self.programs or own, self.top_k)
        self._text = cut_text(context_text(found), self.max_length)
        about = [{"program": chunk.program, "source": chunk.source, "title": chunk.title} for chunk in found]
        return observation | {PART: self._text}, info | {"retrieved": about}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """A step; the documents stay what they are."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation | {PART: self._text}, float(reward), terminated, truncated, info
