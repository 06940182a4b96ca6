"""GRASS GIS: maps and how they are shown; its window's process tells what is shown, its modules what the maps are."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.grass.checks import CHECKS
from deskgym.task_suites.programs.grass.macros import MACROS
from deskgym.task_suites.programs.grass.program import WORLD, open_
from deskgym.task_suites.programs.grass.state import state
from deskgym.task_suites.programs.grass.window import dump

PROGRAM = Program(
    name="grass",
    title="GRASS GIS",
    packages=("grass-gui", "locales", "python3-geopandas"),
    needs=Needs(memory_mb=2048, elements=384, layers=(WORLD,)),
    hooks={"grass.open": open_},
    checks=CHECKS,
    readers={"grass.state": state},
    macros=MACROS,
    parts={
        "dump": dump,
        "without_prompt": {"grass.open": {"console": False}},
        "prompt_macros": ("grass.command", "grass.tell"),
    },
)
