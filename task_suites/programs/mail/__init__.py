"""Roundcube: the mail of a company's people, in Chromium, over Dovecot."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.mail.checks import CHECKS
from deskgym.task_suites.programs.mail.functions import FUNCTIONS
from deskgym.task_suites.programs.mail.macros import MACROS
from deskgym.task_suites.programs.mail.program import deliver, open_, remove
from deskgym.task_suites.programs.mail.service import SERVICE

PROGRAM = Program(
    name="mail",
    title="Roundcube",
    packages=("chromium", "php-cli", "php-intl", "php-mbstring", "php-sqlite3", "php-xml"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"mail.open": open_, "mail.deliver": deliver, "mail.remove": remove},
    macros=MACROS,
    checks=CHECKS,
    functions=FUNCTIONS,
)
