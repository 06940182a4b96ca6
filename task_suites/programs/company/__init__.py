"""One company: its people and goods, a Django site as a service, a door, and several of its applications at once."""

from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.company.program import open_

PROGRAM = Program(
    name="company",
    title="several of them at once",
    packages=("chromium",),
    needs=CHROMIUM.needs,
    hooks={"company.open": open_},
)
