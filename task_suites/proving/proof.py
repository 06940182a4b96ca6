"""Proof: the proof states of an episode, and what was played to make them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs import load_program

PROVER = load_program("prover")


class Proof:
    """The course of one proof, kept on the host: what the prover says is data, and decides nothing.

    Attributes:
        state: the proof state that was made last.
        goals: the open ones in it.
        closed: the proof state that had no goals left last, or None.
    """

    def __init__(self, session: Any, opening: Any) -> None:
        self._session, self._about = session, opening.about
        self.state: int = opening.state
        self.goals: list[str] = [*opening.goals]
        self.closed: int | None = None
        self._scripts: dict[int, tuple[str, ...]] = {opening.state: ()}
        self._history: list[str] = []

    @classmethod
    def begun(cls, machine: Machine) -> Proof:
        """That of a machine in which a hook has stated a theorem.

        Raises:
            ValueError: no hook has.
            GuestLost: the prover is gone.
        """
        session = PROVER.parts["session"](machine)
        return cls(session, session.opening())

    def play(self, tactic: str, state: int, seconds: float) -> tuple[str, str | None]:
        """Play a tactic; gives the prover's answer, and why the step is invalid, or None.

        Raises:
            GuestLost: the prover is gone.
        """
        answer = self._answer(tactic, state, seconds)
        made, goals = answer.get("proofState"), answer.get("goals")
        invalid = None
        if isinstance(answer.get("message"), str) or not isinstance(made, int) or not isinstance(goals, list):
            invalid = str(answer.get("message") or "the prover gives no proof state")
        elif made in self._scripts:
            raise GuestLost(f"the prover makes the proof state {made} twice", "prover_lost")
        else:
            self._scripts[made] = (*self._scripts[state], tactic)
            self.state, self.goals = made, [str(goal) for goal in goals]
            if not goals and str(answer.get("proofStatus", "Completed")).startswith("Completed"):
                self.closed = made
        text = json.dumps(answer, ensure_ascii=False)
        self._history += [json.dumps({"tactic": tactic, "proofState": state}, ensure_ascii=False), text]
        return text, invalid

    def texts(self) -> Mapping[str, str]:
        """The observations ``headers``, ``goals`` and ``history``."""
        count = f"{len(self.goals)} goal{'s' * (len(self.goals) != 1)}" if self.goals else "no goals"
        return {
            "headers": self._about.headers,
            "goals": "\n\n".join([f"proofState {self.state}: {count}", *self.goals]),
            "history": "\n".join(self._history),
        }

    def file(self) -> tuple[str, str] | None:
        """Path and text of the file of the whole proof; None where there is none."""
        return None if self.closed is None else (self._about.path, self._about.file(self._scripts[self.closed]))

    def _answer(self, tactic: str, state: int, seconds: float) -> dict[str, Any]:
        if state not in self._scripts:
            return {"message": f"Unknown proof state {state}; there are {', '.join(map(str, self._scripts))}."}
        if word := PROVER.parts["forbidden_word"](tactic, self._about.forbidden):
            return {"message": f"{word!r} is not taken in a proof"}
        try:
            found: dict[str, Any] = self._session.play(tactic, state, seconds)
        except GuestCallError as error:
            raise GuestLost(f"the prover does not answer: {error}", "prover_lost") from error
        return found
