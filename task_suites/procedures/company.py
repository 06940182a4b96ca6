"""The live company: carries a procedure out in the applications of the suite ``bpm``, on cases that nobody has seen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.packages import missing_packages
from deskgym.task_suites.bpm.follow import follow

if TYPE_CHECKING:
    from deskgym.task_suites.core.suite import TaskSuite

SUITE = "bpm"
SPLIT = "test"
"""Of the cases: a procedure is written from a recording of another one."""
SCREEN = 1280, 720
_BRACES = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Company:
    """Carries procedures out.

    Attributes:
        cases: how many for each procedure.
        machine: the kind of machine.
    """

    cases: int = 3
    machine: str = "sandbox"

    def gold(self, template: str) -> str:
        """The procedure that a workflow's author has written, with its parameters in braces; "" where there is none.

        Raises:
            TaskError: there is no such workflow.
        """
        lines = live_suite().templates[template].file.verbose
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))

    def parameters(self, template: str) -> list[str]:
        """What stands in braces in the author's procedure: all that a procedure may name of a case."""
        return list(dict.fromkeys(_BRACES.findall(self.gold(template))))

    def missing(self, template: str) -> list[str]:
        """The Debian packages that a workflow's applications lack here."""
        return list(missing_packages(live_suite().needs(template).packages))

    def success(self, template: str, procedure: str, seed: int) -> list[bool]:
        """Whether each of some cases is as it must be when the procedure has been carried out.

        Args:
            template: the workflow, such as ``"helpdesk/assign"``.
            procedure: its text.
            seed: draws the cases.

        Raises:
            MachineError: a machine broke; that is no doing of the procedure's.
        """
        rng = np.random.default_rng(seed)
        cases = [live_suite().draw(rng, template, SPLIT).id for _ in range(self.cases)]
        return self.success_on(template, procedure, cases)

    def success_on(self, template: str, procedure: str, cases: Sequence[str]) -> list[bool]:
        """The same of cases by their names, such as ``"helpdesk/assign#7"``.

        Raises:
            MachineError: a machine broke; that is no doing of the procedure's.
        """
        env = DesktopEnv(
            live_suite(),
            task=template,
            machine=self.machine,
            screen_size=SCREEN,
            observation=("instruction",),
            action="computer",
            invalid_action="feedback",  # a text that no keyboard types is the procedure's mistake
        )
        try:
            return [_carried_out(env, case, procedure, self.parameters(template)) for case in cases]
        finally:
            env.close()


@cache
def live_suite() -> TaskSuite:
    """The suite of the live company's workflows."""
    from deskgym.task_suites import load_suite

    return cast("TaskSuite", load_suite(SUITE))


def _carried_out(env: DesktopEnv, case: str, procedure: str, parameters: Sequence[str]) -> bool:
    env.reset(options={"task": case})
    known = told(env.episodes.current.params, parameters)
    for action in env.attempt(follow(procedure, known)):
        *_, terminated, truncated, info = env.step(action)
        if fault := info.get("fault"):
            raise MachineError(f"{case}: the machine broke while a procedure was carried out: {fault}", "company")
        if terminated or truncated:
            return bool(info["verdict"]["success"])
    return False


def told(params: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    """The values of parameters, named as in braces: ``n``, ``status[name]``."""
    found: dict[str, object] = {}
    for name in names:
        head, _, key = name.partition("[")
        value = params.get(head)
        found[name] = value.get(key.rstrip("]")) if key and isinstance(value, dict) else value
    return found
