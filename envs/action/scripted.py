"""Scripts in an environment's own action form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action, as_code
from deskgym.envs.action.discrete import DiscreteActions
from deskgym.envs.errors import ActionError


def as_actions(
    script: Iterator[list[Action]], form: str, discrete: DiscreteActions | None, look: Callable[[], None]
) -> Iterator[Any]:
    """The actions of a script; a burst is one code action or several computer actions.

    Args:
        script: yields bursts.
        form: ``"code"``, ``"discrete"`` or ``"computer"``.
        discrete: for ``"discrete"``.
        look: shows ``discrete`` what is on the screen now.
    """
    for burst in script:
        if form == "code":
            yield from as_code(burst)
        elif discrete is not None:
            yield from _as_discrete(burst, discrete, look)
        else:
            yield from burst


def _as_discrete(
    burst: Sequence[Action], discrete: DiscreteActions, look: Callable[[], None]
) -> Iterator[NDArray[np.int64]]:
    """The burst as one discrete action, or as few; each is looked for when those before have been carried out."""
    while burst:
        try:
            yield discrete.encode(burst)
            return
        except ActionError:  # what a script has waited for may be newer than the last observation
            look()
        action, count = discrete.encode_start(burst)
        yield action
        burst = burst[count:]
