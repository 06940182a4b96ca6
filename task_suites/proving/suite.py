"""The proving suite: task files as in other suites, and attacks of its own."""

from __future__ import annotations

from deskgym.task_suites.core.suite import TaskSuite
from deskgym.task_suites.core.task import Task
from deskgym.task_suites.core.verify.attacks import Attacks, Target
from deskgym.task_suites.proving.attacks import attacks_on
from deskgym.task_suites.suites import SuiteEntry


class ProvingSuite(TaskSuite):
    """Theorems from folders of task files; see ``TaskSuite``."""

    def attacks(self, task: Task) -> Attacks:
        """What can be tried to earn a theorem's reward without a proof, by name."""
        return attacks_on(Target(task, self))


def suite(entry: SuiteEntry, mode: str, instruction: str = "abstract") -> TaskSuite:
    """The theorems of a suite's task files; see ``deskgym.task_suites.load_task_files``.

    Raises:
        TaskError: there are no task files.
    """
    from deskgym.task_suites import load_task_files

    return load_task_files(entry, mode, instruction, kind=ProvingSuite)
