"""code-server: the editor VS Code in Chromium, on the desktop, as the agent's user."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.code_server.macros import MACROS
from deskgym.task_suites.programs.code_server.program import open_
from deskgym.task_suites.programs.code_server.server import ENVIRONMENT

PROGRAM = Program(
    name="code_server",
    title="code-server",
    packages=("chromium",),
    needs=Needs.merged(CHROMIUM.needs, Needs(layers=(ENVIRONMENT,), memory_mb=3072)),
    hooks={"code_server.open": open_},
    macros=MACROS,
)
