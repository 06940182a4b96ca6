"""KStars: the sky at any place and time; its state is told by the process that was launched, over the session bus."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.kstars.checks import CHECKS
from deskgym.task_suites.programs.kstars.macros import MACROS
from deskgym.task_suites.programs.kstars.program import open_
from deskgym.task_suites.programs.kstars.state import state

PROGRAM = Program(
    name="kstars",
    title="KStars",
    packages=("kstars",),
    needs=Needs(memory_mb=2048, elements=384),
    hooks={"kstars.open": open_},
    checks=CHECKS,
    readers={"kstars.state": state},
    macros=MACROS,
)
