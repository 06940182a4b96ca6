"""TableAnalysisEnv: a user asks about tables; the agent writes code, asks back, chooses or answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, cast

from gymnasium.utils import EzPickle

from deskgym.envs.action.form import Performed
from deskgym.envs.clock import Clock
from deskgym.envs.episode import TaskLike, TaskSource
from deskgym.envs.errors import MachineError
from deskgym.envs.kernel_env import KernelActions, KernelEnv
from deskgym.envs.machine_env import Step
from deskgym.envs.machines.kernels import Execution
from deskgym.envs.options import checked
from deskgym.task_suites.table_analysis.dialogue import Dialogue, DialogueTask

TEXTS = {"instruction": 16384, "dialogue": 32768, "tables": 16384, "library": 65536, "feedback": 16384}
"""The longest text of each text observation, in characters."""
PLOT_QA = ".plot_qa"
"""How ids of tasks end that ask about a picture."""
LEFT_OUT = "(The picture is the observation `plot`, which is left out here. The code that drew it is in the dialogue.)"
_ASK = re.compile(r"\AASK[ \t]+(.+)\Z", re.DOTALL)


class Question(str):
    """What the agent asks the user, after ``ASK``."""

    @property
    def words(self) -> str:
        """The question itself."""
        found = _ASK.match(self)
        return found.group(1).strip() if found else self


class DialogueActions(KernelActions):
    """Texts: Python code, ``ASK question``, or one of the words DONE, FAIL, ANS."""

    no_wait = "there is no screen to wait for: write code, ASK, ANS, DONE or FAIL"

    def parse(self, action: Any) -> Performed:
        """An end of the turn as an Action; a Question; or the code.

        Raises:
            ActionError: it is none of these.
        """
        parsed = super().parse(action)
        return Question(parsed.strip()) if isinstance(parsed, str) and _ASK.match(parsed.strip()) else parsed


class TableAnalysisEnv(KernelEnv):
    """A user asks about tables; the agent writes code, asks back, chooses or answers.

    An action is a text: Python code, which runs in a kernel that keeps its variables and has those of the history;
    ``ASK question``; ``ANS B`` for a choice; ``DONE`` when the results are in the variables that were asked for;
    ``FAIL``. An episode is one turn with the history that the task brings, or with ``episode="dialogue"`` a whole
    dialogue whose history is what the agent itself did; each turn has 5 steps. A turn ends with DONE, ANS or FAIL, or
    at its limit; its results are then compared with the reference's in a second machine. The reward is the share of
    what was asked for that is right (in private modes times the share of the library's functions that were called),
    and in a dialogue that divided by the number of turns.

    Args:
        suite: where the tasks come from.
        screen_size: None: there is no screen.
        action: only ``"code"``.
        user: who answers ``ASK``: ``"rules"``, or ``{"endpoint": url, "model": name}`` of an OpenAI-compatible server.
        questions: how many questions are answered per turn; the paper allows one.
        options: see ``KernelEnv``. The observations are ``instruction`` (the query and where its results belong),
            ``dialogue`` (what was said and run so far), ``tables`` (schemas and heads), ``library`` (documentation of
            the private library), ``feedback`` and ``plot``; a stage is a turn. Where all of ``task`` ask about a
            picture (``"*.plot_qa"``), ``plot`` is one of the default observations.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    @checked
    def __init__(
        self,
        suite: TaskSource,
        *,
        screen_size: Any = None,
        action: str = "code",
        user: str | Mapping[str, Any] = "rules",
        questions: Annotated[int, (0, None)] = 1,
        **options: Any,
    ) -> None:
        EzPickle.__init__(self, suite, user=user, questions=questions, **options)
        if screen_size is not None:
            raise ValueError(f"screen_size={screen_size!r}; table analysis has no screen: legal is None")
        if action != "code":
            raise ValueError(f"action={action!r}; table analysis has text actions only: legal is 'code'")
        if fixed := [name for name in ("begin", "actions", "texts") if name in options]:
            raise ValueError(f"unknown argument {fixed[0]!r}; see deskgym.task_suites.table_analysis.env")

        def begin(drawn: TaskLike) -> Dialogue:
            if not isinstance(drawn, DialogueTask):
                raise TypeError(f"{drawn.id} is no task of a dialogue")
            return drawn.begin(user, questions)

        if options.get("observation") is None and str(options.get("task")).partition("#")[0].endswith(PLOT_QA):
            options["observation"] = (*TEXTS, "plot")
        super().__init__(suite, begin, actions=DialogueActions(), texts=TEXTS, **options)

    @property
    def conversation(self) -> Dialogue | None:
        """The present or the last episode's; None before the first ``reset``."""
        return cast("Dialogue | None", self.episode)

    def _carry_out(self, performed: Performed) -> Execution | None:
        if not isinstance(performed, Question):
            return super()._carry_out(performed)
        self._feedback = f"User: {cast(Dialogue, self._present()).ask(performed.words)}"
        return None

    def _observe(self) -> dict[str, Any]:
        found = super()._observe()
        if "instruction" in found and "plot" not in found and cast(Dialogue, self._present()).about_plot:
            found["instruction"] += f"\n\n{LEFT_OUT}"
        return found

    def _fault(self, error: MachineError, clock: Clock) -> Step:
        step = super()._fault(error, clock)
        info = step[-1]
        if info["fault"]["cause"] == "agent" and self.conversation is not None:
            self.conversation.broken_by_agent(f"the agent broke its machine: {error}")
            info["analysis"] = self.conversation.record()
        return step

    def _info(self, timing: Mapping[str, float]) -> dict[str, Any]:
        info = super()._info(timing)
        if self.verdict is not None and self.conversation is not None:
            info["analysis"] = self.conversation.record()
        return info
