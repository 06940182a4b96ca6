"""CoqIDE: proofs that are checked by Coq's kernel in the clean machine."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.coqide.checks import CHECKS
from deskgym.task_suites.programs.coqide.functions import FUNCTIONS
from deskgym.task_suites.programs.coqide.macros import MACROS
from deskgym.task_suites.programs.coqide.program import open_

PROGRAM = Program(
    name="coqide",
    title="CoqIDE",
    packages=("coqide", "coq"),
    needs=Needs(memory_mb=2048),
    hooks={"coqide.open": open_},
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
)
