"""How an app's tasks are carried out: what ``apps/NAME.py`` says in its ``APP``, and what its functions get."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from deskgym.envs.episode import BurstOrProgram, FinalState, Screen
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.clean_run import open_clean
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import NO_NEEDS, Needs
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.importers.spider2v.layout import LAYER
from deskgym.task_suites.importers.spider2v.metrics import Value
from deskgym.task_suites.importers.spider2v.record import Getter, Mode, Step, UpstreamTask
from deskgym.task_suites.programs import load_program


@dataclass(frozen=True)
class Stage:
    """What a step of a task's ``config`` gets.

    Attributes:
        setup: the machine and its services.
        record: the task.
        app: its app.
    """

    setup: Setup
    record: UpstreamTask
    app: App

    @property
    def machine(self) -> Machine:
        """The agent's machine."""
        return self.setup.machine


@dataclass
class Scene:
    """What a getter gets, and a step of ``postconfig``.

    Attributes:
        final: the final state.
        record: the task.
        app: its app.
        mode: which rules judge.
        placed: files of ``postconfig``, by their place: they go where scripts run, never to the agent's machine.
    """

    final: FinalState
    record: UpstreamTask
    app: App
    mode: Mode
    placed: dict[str, bytes] = field(default_factory=dict)

    @property
    def machine(self) -> Machine:
        """The agent's machine, as the episode left it."""
        return self.final.machine

    @cached_property
    def clean(self) -> Machine:
        """A machine that the agent never had, with copies of what it made: see ``scripts.clean_copy``."""
        from deskgym.task_suites.importers.spider2v.scripts import clean_copy

        return clean_copy(self)

    def fresh_machine(self, **more: tuple[str, ...]) -> Machine:
        """A machine as new, for what a metric must not open on the host; ``clean`` is made anew after it.

        Raises:
            RuntimeError: there is none.
        """
        self.__dict__.pop("clean", None)
        return open_clean(self.final, "evaluate the task", **more)


ConfigStep = Callable[[Stage, Step], None]
"""Carries out a step of ``config``; returns when its state is there, raises SetupError where it does not come."""
PostStep = Callable[[Scene, Step], None]
"""Carries out a step of ``postconfig``. CheckFailed: the agent left what it cannot be done with."""
ResultGetter = Callable[[Scene, Getter], Value]
"""Gives a comparison's ``result`` or ``expected``. CheckFailed: the agent left nothing like it."""
Play = Callable[[Screen], Iterator[BurstOrProgram]]
"""Plays an episode; see ``deskgym.envs.episode.Script``."""
ScriptRunner = Callable[[Scene, str, str], str]
"""``run(scene, text, dest)``: what an evaluation's script printed."""


@dataclass(frozen=True)
class Correction:
    """How the ``corrected`` mode mends a weak or wrong evaluation.

    Attributes:
        why: what is wrong with upstream's, in a sentence's middle; it is in the task's notes.
        mend: gives the mended task; None where only ``test`` is added.
        test: looks at the final state beside upstream's comparisons. CheckFailed: the task is not solved.
    """

    why: str
    mend: Callable[[UpstreamTask], UpstreamTask] | None = None
    test: Callable[[Scene], None] | None = None


@dataclass(frozen=True)
class Attempts:
    """How a task is played.

    Attributes:
        oracle: solves it; None where nobody has written it.
        wrong: must not earn the reward, by name.
    """

    oracle: Play | None = None
    wrong: Mapping[str, Play] = field(default_factory=dict)


def nothing_lacks(record: UpstreamTask) -> Iterable[str]:
    """For apps whose tasks all run."""
    return ()


def no_attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """For apps whose tasks have no oracles yet."""
    return Attempts()


@dataclass(frozen=True, kw_only=True, eq=False)
class App:
    """What the tasks of one of upstream's folders have beside what all have. It is ``APP`` of ``apps/NAME.py``.

    Attributes:
        name: upstream's folder.
        programs: the names of deskgym's programs that its tasks use.
        needs: what they need beside those programs' needs; layers of ``layout.app_layer`` among it.
        config: steps of ``config`` by type, beside ``config.STEPS``, or in place of one of them.
        postconfig: the same for ``postconfig``, beside ``postconfig.STEPS``.
        getters: by type, beside ``getters.GETTERS``.
        opens_page: the types of config steps that open the browser on a page; a browser's start before is left out.
        run_script: runs an evaluation's script; None runs it in the clean machine.
        may_fail: globs of what may fail in a setup script, as ``"rm -f x: ended with *"``.
        keeps: dot files and folders of the home folder that are data, such as ``".dbt"``: the clean machine gets them.
        environment: variables of evaluation scripts.
        after_setup: raises SetupError where a task's setup did not leave what it should.
        corrections: by the id of a task or of its counterpart.
        lacks: all that keeps a task from running here.
        attempts: the oracle and the wrong attempts of a task.
    """

    name: str
    programs: tuple[str, ...] = ()
    needs: Needs = NO_NEEDS
    config: Mapping[str, ConfigStep] = field(default_factory=dict)
    postconfig: Mapping[str, PostStep] = field(default_factory=dict)
    getters: Mapping[str, ResultGetter] = field(default_factory=dict)
    opens_page: tuple[str, ...] = ()
    run_script: ScriptRunner | None = None
    may_fail: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    after_setup: Callable[[Stage], None] | None = None
    corrections: Mapping[str, Correction] = field(default_factory=dict)
    lacks: Callable[[UpstreamTask], Iterable[str]] = nothing_lacks
    attempts: Callable[[UpstreamTask, Mode], Attempts] = no_attempts

    @property
    def all_needs(self) -> Needs:
        """What its tasks need: programs, layout and its own."""
        programs = [load_program(name).all_needs for name in self.programs]
        return Needs.merged(*programs, Needs(layers=(LAYER,)), self.needs)

    def correction(self, record: UpstreamTask) -> Correction | None:
        """That of a task or of its counterpart."""
        return self.corrections.get(record.id) or self.corrections.get(record.counterpart)


__all__ = ["App", "Attempts", "CheckFailed", "Correction", "Scene", "Stage"]
