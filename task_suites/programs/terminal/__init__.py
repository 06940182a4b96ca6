"""A terminal: Bash in xfce4-terminal, whose text accessibility shows (observation part ``terminal``)."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.terminal.macros import MACROS
from deskgym.task_suites.programs.terminal.program import open_

PROGRAM = Program(
    name="terminal",
    title="Terminal",
    packages=("xfce4-terminal", "jq"),
    needs=Needs(memory_mb=1024),
    hooks={"terminal.open": open_},
    macros=MACROS,
)
