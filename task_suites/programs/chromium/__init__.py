"""Chromium: a web browser."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium.macros import MACROS
from deskgym.task_suites.programs.chromium.program import open_

PROGRAM = Program(
    name="chromium",
    title="Chromium",
    packages=("chromium",),
    needs=Needs(memory_mb=3072, processes=1024, elements=1024, element_deadline=2.0),
    hooks={"chromium.open": open_},
    macros=MACROS,
)
