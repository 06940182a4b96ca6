"""MariaDB beside the desktop, where MySQL is asked for; the agent reaches it with a user of its own."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.mariadb.checks import CHECKS
from deskgym.task_suites.programs.mariadb.program import load
from deskgym.task_suites.programs.mariadb.service import SERVICE

PROGRAM = Program(
    name="mariadb",
    title="MariaDB",
    packages=("mariadb-server", "mariadb-client"),
    needs=Needs(services=(SERVICE,)),
    hooks={"mariadb.load": load},
    checks=CHECKS,
)
