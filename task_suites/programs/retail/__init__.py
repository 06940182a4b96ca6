"""Made-up tables of a retailer, drawn by a seed: what tasks over databases, files and dbt projects are about."""

from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.retail.functions import FUNCTIONS

PROGRAM = Program(name="retail", title="Tables of a retailer", functions=FUNCTIONS)
