"""Reads Spider2-V's task files from the user's own copy of the benchmark.

>>> from deskgym.task_suites.importers import spider2v
>>> collection = spider2v.load("Spider2-V")  # doctest: +SKIP
>>> task = collection["dbt/0aa56709"]  # doctest: +SKIP
>>> [step.type for step in task.config]  # doctest: +SKIP
['copyfile_from_host_to_guest', 'script_and_execute']

The benchmark's code and files are Apache-2.0, its spreadsheets GPL-3.0.
"""

from deskgym.task_suites.importers.spider2v.collection import Collection, copy_folder, load
from deskgym.task_suites.importers.spider2v.record import Comparison, Getter, Mode, Step, UpstreamTask, Variant

__all__ = ["Collection", "Comparison", "Getter", "Mode", "Step", "UpstreamTask", "Variant", "copy_folder", "load"]
