"""PostgreSQL: the database server of web applications, in a companion of the desktop."""

from deskgym.task_suites.core.program import Program

PROGRAM = Program(name="postgresql", title="PostgreSQL", packages=("postgresql",))
