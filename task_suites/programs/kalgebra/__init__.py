"""KAlgebra: a calculator that plots in 2D and 3D."""

from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.kalgebra import attacks
from deskgym.task_suites.programs.kalgebra.checks import CHECKS, plotted, spanned
from deskgym.task_suites.programs.kalgebra.functions import FUNCTIONS
from deskgym.task_suites.programs.kalgebra.macros import COLOR_VALUES, MACROS
from deskgym.task_suites.programs.kalgebra.program import open_
from deskgym.task_suites.programs.kalgebra.state import RESOLUTIONS, STYLES

PROGRAM = Program(
    name="kalgebra",
    title="KAlgebra",
    packages=("kalgebra",),
    hooks={"kalgebra.open": open_},
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
    attacks={"kalgebra.preloaded": attacks.preloaded},
    parts={
        "plotted": plotted,
        "spanned": spanned,
        "colors": COLOR_VALUES,
        "resolutions": RESOLUTIONS,
        "styles": STYLES,
    },
)
