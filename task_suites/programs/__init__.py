"""Programs that tasks use, one folder each, and toolkits with what several programs share."""

from deskgym.task_suites.core.discovery import load_program, program_names
from deskgym.task_suites.core.program import Program

__all__ = ["Program", "load_program", "program_names"]
