"""Private libraries: pandas-level code over functions whose names, orders and wording come from a seed."""

from deskgym.task_suites.table_analysis.private.calls import called, recall
from deskgym.task_suites.table_analysis.private.library import PrivateLibrary, make_library

__all__ = ["PrivateLibrary", "called", "make_library", "recall"]
