"""Takes results out of a kernel as bytes. After the agent's code has run there, they are the agent's word."""

from deskgym.task_suites.table_analysis.guest.results.taking import pickled, take

__all__ = ["pickled", "take"]
