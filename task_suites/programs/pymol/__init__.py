"""PyMOL: molecules in three dimensions; sessions are read by PyMOL in the clean machine."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.pymol.checks import CHECKS
from deskgym.task_suites.programs.pymol.macros import MACROS
from deskgym.task_suites.programs.pymol.program import FOLDER, open_, start

PROGRAM = Program(
    name="pymol",
    title="PyMOL",
    packages=("pymol",),
    needs=Needs(memory_mb=2048, glx=True),
    hooks={"pymol.open": open_},
    checks=CHECKS,
    macros=MACROS,
    parts={
        "folder": FOLDER,
        "start": start,
        "without_prompt": {"pymol.open": {"prompt": False}},
        "prompt_macros": ("pymol.type", "pymol.save", "pymol.picture", "pymol.ask"),
    },
)
