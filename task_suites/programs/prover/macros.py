"""What an agent plays in a prover's REPL, as a macro for oracles and wrong attempts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts


def play(screen: Any, proof: str, state: int | None = None) -> Bursts:
    """Play the lines of a proof, one tactic each.

    Args:
        screen: the proof as it is: ``screen.state`` is the proof state that was made last.
        proof: tactics, one in a line.
        state: where the first one begins; the proof state that was made last if left out.
    """
    for line in proof.strip().splitlines():
        at = screen.state if state is None else state
        state = None
        yield [Action("type", text=json.dumps({"tactic": line, "proofState": at}, ensure_ascii=False))]


MACROS: Mapping[str, Callable[..., Bursts]] = {"prover.play": play}
"""By the names that task files use."""
