"""JupyterLab in Chromium, on the desktop: its kernels run the agent's code as the agent's user."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.jupyterlab.checks import CHECKS
from deskgym.task_suites.programs.jupyterlab.functions import FUNCTIONS
from deskgym.task_suites.programs.jupyterlab.macros import MACROS
from deskgym.task_suites.programs.jupyterlab.program import database, kernel, notebook, open_
from deskgym.task_suites.programs.jupyterlab.server import BROWSER

PROGRAM = Program(
    name="jupyterlab",
    title="JupyterLab",
    packages=("chromium",),
    needs=Needs.merged(CHROMIUM.needs, Needs(layers=(BROWSER,))),
    hooks={
        "jupyterlab.open": open_,
        "jupyterlab.notebook": notebook,
        "jupyterlab.kernel": kernel,
        "jupyterlab.database": database,
    },
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
)
