"""Reads ScienceBoard's task files from the user's own copy of the benchmark.

>>> from deskgym.task_suites.importers import scienceboard
>>> collection = scienceboard.load("ScienceBoard")  # doctest: +SKIP
>>> task = collection["KAlgebra/B-01"]  # doctest: +SKIP
>>> scienceboard.status(task)  # doctest: +SKIP
(True, 'runs here')

``docs/scienceboard.md`` says what is loaded, and how it differs from upstream.
"""

from deskgym.task_suites.importers.scienceboard.collection import Collection, load, status, tasks_folder
from deskgym.task_suites.importers.scienceboard.corrections import KNOWN_BAD, Mode
from deskgym.task_suites.importers.scienceboard.programs import Blocker, blockers
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask

__all__ = ["KNOWN_BAD", "Blocker", "Collection", "Mode", "UpstreamTask", "blockers", "load", "status", "tasks_folder"]
