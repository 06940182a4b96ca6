"""ProverEnv: a theorem, and a prover's text REPL that the agent plays tactics in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import EzPickle
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from deskgym.envs.action.actions import Action
from deskgym.envs.action.form import MAX_CODE, ActionForm, Performed, end_of, input_of
from deskgym.envs.clock import Clock
from deskgym.envs.episode import Script, Stop, TaskSource
from deskgym.envs.episode_runner import EpisodeRunner
from deskgym.envs.errors import ActionError, GuestLost, MachineError, SetupError
from deskgym.envs.machine_env import MachineEnv, Step
from deskgym.envs.observation.spaces import empty_observation, observation_space
from deskgym.envs.observation.texts import cut_text
from deskgym.envs.options import Seconds, StepLimit, checked
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig
from deskgym.envs.text_space import UnicodeText
from deskgym.envs.time_limit import ends_with_this_step
from deskgym.task_suites.proving.proof import Proof

TEXTS = {"instruction": 16384, "headers": 16384, "goals": 65536, "history": 262144, "feedback": 65536}
"""The longest text of each observation, in characters."""
_PICTURE = 800, 600
_PENALTY = re.compile(r"([1-9]\d*):([1-9]\d*)\Z")
_LEGAL = '{"tactic": "intros.", "proofState": 0}, or one of the words DONE and FAIL'


class Tactic(str):
    """A tactic, and the proof state that it goes on from."""

    state: int

    @classmethod
    def of(cls, text: str, state: int) -> Tactic:
        """Of its text and the number of its proof state."""
        tactic = cls(text)
        tactic.state = state
        return tactic


class TacticText(UnicodeText):
    """Texts of tactic actions; a sample is a well-formed one, of a made-up tactic."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """An action as JSON."""
        return json.dumps({"tactic": super().sample(mask, probability), "proofState": int(self.np_random.integers(4))})


class TacticActions(ActionForm):
    """Texts: a JSON object with exactly ``tactic`` and ``proofState``, or one of the words DONE and FAIL."""

    name = "tactic"

    def __init__(self) -> None:
        self.space = TacticText(MAX_CODE)

    def parse(self, action: Any) -> Performed:
        """An end as an Action, or a Tactic. The JSON object may also be given as a dict.

        Raises:
            ActionError: it is none of these.
        """
        if isinstance(action, str) and action.strip() in ("DONE", "FAIL"):
            return (Action(action.strip().lower()),)
        try:
            found = json.loads(action) if isinstance(action, str) and len(action) <= MAX_CODE else action
        except (ValueError, RecursionError) as error:
            raise ActionError(f"the action is no JSON ({error}); legal is {_LEGAL}") from None
        if not isinstance(found, Mapping) or set(found) != {"tactic", "proofState"}:
            raise ActionError(f"the action has not exactly the keys tactic and proofState; legal is {_LEGAL}")
        tactic, state = found["tactic"], found["proofState"]
        if not isinstance(tactic, str) or not isinstance(state, int | np.integer) or isinstance(state, bool):
            raise ActionError(f"tactic is a text and proofState a whole number; legal is {_LEGAL}")
        try:
            tactic.encode()
        except UnicodeEncodeError:
            raise ActionError("the tactic has lone surrogates, which no text has: give Unicode characters") from None
        if len(tactic) > MAX_CODE:
            raise ActionError(f"a tactic has at most {MAX_CODE} characters, got {len(tactic)}")
        return Tactic.of(tactic, int(state))

    def scripted(self, script: Iterator[Any], look: Callable[[], None]) -> Iterator[str]:
        """What a script types is an action; its end is a word."""
        for burst in script:
            yield from (each.text if each.verb == "type" else each.verb.upper() for each in input_of(burst))


class ProverEnv(MachineEnv):
    """A theorem, and a prover's text REPL that the agent plays tactics in; there is no screen.

    An action is a text: ``{"tactic": "intros.", "proofState": 0}`` plays a tactic in a proof state, from which all
    earlier ones can be gone back to; ``DONE`` says that the theorem is proved, ``FAIL`` that it cannot be. These end
    the episode, the step limit truncates it; both are evaluated. The proof that had no goals left last is then written
    out as a file and compiled anew in a second machine: only what the prover's kernel says there earns the reward.

    A step is invalid when nothing came of it: it is no such JSON object, names no proof state that there is, or the
    prover refuses the tactic. A task's parameter ``penalty``, such as ``"1:5"``, takes five steps off the limit for
    each invalid one, as ScienceBoard's Raw tasks do.

    Args:
        suite: where the tasks come from.
        task: a task id, a glob over ids, or None for any; what it leaves open is drawn by the seed.
        split: ``"train"``, ``"test"`` or None for both.
        machine: the kind of machine, such as ``"sandbox"``.
        screen_size: None: there is no screen.
        observation: of ``instruction``, ``headers`` (what the statement stands on), ``goals`` (those that are open in
            the proof state that was made last, and its number), ``history`` (all tactics and answers) and ``feedback``
            (the last answer, or what was wrong), which are the default.
        action: only ``"tactic"``.
        max_steps: step limit; None takes the task's own.
        render_mode: None, ``"rgb_array"``, a picture of the goals, or ``"human"``, a window that shows it.
        tactic_timeout: seconds that a tactic may take; it is then ended, and the proof states stay.
        invalid_action: ``"feedback"`` counts an action that is none as an invalid step and says why in the feedback and
            in ``info["invalid_action"]``; ``"raise"`` raises ActionError, and no step is counted.
        pool: the keys of ``PoolConfig``; ``{"depth": 1}`` prepares the next episode in a second machine.
        machine_options: see ``DesktopEnv``.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    @checked
    def __init__(
        self,
        suite: TaskSource,
        *,
        task: str | None = None,
        split: str | None = None,
        machine: str = "sandbox",
        screen_size: Any = None,
        observation: Sequence[str] | None = None,
        action: str = "tactic",
        max_steps: StepLimit | None = None,
        render_mode: str | None = None,
        tactic_timeout: Seconds = 30.0,
        invalid_action: str = "feedback",
        pool: Mapping[str, Any] | None = None,
        machine_options: Mapping[str, Any] | None = None,
    ) -> None:
        EzPickle.__init__(
            self, suite, task=task, split=split, machine=machine, observation=observation, max_steps=max_steps,
            render_mode=render_mode, tactic_timeout=tactic_timeout, invalid_action=invalid_action, pool=pool,
            machine_options=machine_options,
        )  # fmt: skip
        if screen_size is not None:
            raise ValueError(f"screen_size={screen_size!r}; proving has no screen: legal is None")
        if action != "tactic":
            raise ValueError(f"action={action!r}; proving has text actions only: legal is 'tactic'")
        self.names = tuple(TEXTS) if observation is None else observation
        self.observation_space = observation_space(self.names, {name: UnicodeText(n) for name, n in TEXTS.items()})
        self.tactic_timeout = tactic_timeout
        builder = MachineBuilder.of_options(machine, machine_options, screen_size=None)
        manager = MachineManager(builder, lambda prepared: None, PoolConfig.from_dict(pool))
        episodes = EpisodeRunner(suite, manager, task=task, split=split, max_steps=max_steps)
        super().__init__(TacticActions(), episodes, render_mode=render_mode, invalid_action=invalid_action)
        if "commands" not in self.machine.can:
            raise ValueError(f"machine={machine!r} runs no prover; legal are 'sandbox', 'qemu' and 'process'")
        self.proof: Proof | None = None
        self._feedback = ""
        self._invalid = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a task, get a machine with a prover in which its theorem is stated, and observe; see ``DesktopEnv``."""
        super().reset(seed=seed)
        self.episodes.draw(self.np_random, seed, options)
        self.performed, self.proof = (), None
        self._feedback, self._invalid = "", 0
        observation, timing, prepared = self.episodes.open_machine(self._first_look)
        return observation, self._info(timing) | {"stats": dict(self.stats), "prepared": prepared}

    def step(self, action: Any) -> Step:
        """Play a tactic, or end the episode.

        Raises:
            ActionError: the action is not legal, and ``invalid_action="raise"``; nothing was done.
        """
        episode, clock = self.episodes, Clock()
        episode.require_running()
        episode.prefetch_once(self.np_random)
        self.performed, invalid = self._read(action)
        clock.lap("parse")
        episode.steps += 1
        stop, reward = end_of(self.performed)[0], 0.0
        try:
            if isinstance(self.performed, Tactic):
                self._feedback, invalid = self._present.play(self.performed, self.performed.state, self.tactic_timeout)
            else:
                self._feedback = invalid or ""
            self._invalid += bool(invalid)
            if stop is None and (ends_with_this_step(self) or episode.steps >= self.step_limit):
                stop = "limit"
            observation = self._observe()
            clock.lap("act")
            if stop:
                reward = self._evaluate(stop)
                clock.lap("evaluate")
        except MachineError as error:
            return self._fault(error, clock)
        info = self._info(clock.timing) | ({"invalid_action": invalid} if invalid else {})
        return observation, reward, stop not in (None, "limit"), stop == "limit", info

    @property
    def step_limit(self) -> int:
        """Steps until this episode truncates: what invalid ones take off has been taken off."""
        found = _PENALTY.match(str(self.episodes.current.params.get("penalty", "")))
        lost = self._invalid // int(found[1]) * int(found[2]) if found else 0
        return max(1, self.episodes.step_limit - lost)

    def oracle(self) -> Iterator[str]:
        """Actions that solve the current task; see ``MachineEnv.oracle``."""
        return self._scripted(self.episodes.current.oracle)

    def attempt(self, attempt: str | Script) -> Iterator[str]:
        """Actions of a wrong attempt or of a script; see ``MachineEnv.attempt``."""
        return self._scripted(self._script(attempt))

    @property
    def done(self) -> str:
        """See ``MachineEnv.done``."""
        return "DONE"

    def describe(self) -> dict[str, Any]:
        """See ``MachineEnv.describe``."""
        return {
            "vocabulary": "", "screen_size": list(_PICTURE), "action_form": self.actions.name,
            "observation": list(self.names),
        }  # fmt: skip

    # --- internals

    @property
    def _present(self) -> Proof:
        if self.proof is None:
            raise GuestLost("there is no proof", "prover_lost")
        return self.proof

    def _scripted(self, script: Callable[[Any], Iterator[Any]]) -> Iterator[str]:
        return self.actions.scripted(script(self._present), lambda: None)

    def _first_look(self, settled: bool) -> dict[str, Any]:
        try:
            self.proof = Proof.begun(self.machine)
        except ValueError as error:
            raise SetupError(f"{self.episodes.current.id}: {error}") from error
        return self._observe()

    def _observe(self) -> dict[str, Any]:
        self._show()
        told = {"instruction": self.episodes.current.instruction, "feedback": self._feedback, **self._present.texts()}
        return {name: cut_text(told[name], TEXTS[name]) for name in self.names}

    def _observe_nothing(self) -> dict[str, Any]:
        return empty_observation(self.observation_space, self.episodes.current.instruction)

    def _frame(self) -> NDArray[np.uint8]:
        """The goals as a picture: uint8 (600, 800, 3) RGB."""
        picture = Image.new("RGB", _PICTURE, "white")
        text = self.proof.texts()["goals"] if self.proof else ""
        ImageDraw.Draw(picture).multiline_text((8, 8), text.replace("⊢", "|-")[:8000], fill="black")
        return np.asarray(picture, np.uint8)

    def _evaluate(self, stop: Stop) -> float:
        """Write the proof out, where there is a whole one, and judge it. Raises MachineError."""
        if (file := self._present.file()) is not None:
            self.machine.put(file[0], file[1].encode())
        return self.episodes.evaluate(stop, None)

    def _end_now(self) -> float:
        return self._evaluate("limit")
