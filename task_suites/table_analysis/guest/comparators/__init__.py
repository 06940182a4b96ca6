"""Reads results that were taken, and compares them with the reference's. The agent's machine does not have it."""

from deskgym.task_suites.table_analysis.guest.comparators.comparing import MODES, compare, compare_results
from deskgym.task_suites.table_analysis.guest.comparators.decode import answers, decode, decode_value

__all__ = ["MODES", "answers", "compare", "compare_results", "decode", "decode_value"]
