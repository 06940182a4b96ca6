"""Reads Tapilot-Crossing from the user's own copy, in both published layouts.

>>> from deskgym.task_suites.importers import tapilot
>>> collection = tapilot.load("Tapilot-Crossing")  # doctest: +SKIP
>>> turn = collection["ATP_tennis/ana/normal/turn_3"]  # doctest: +SKIP
>>> collection.reasons(turn)  # doctest: +SKIP
[]
"""

from deskgym.task_suites.importers.tapilot.collection import Collection, broken_id, data_folder, load
from deskgym.task_suites.importers.tapilot.turn import Message, Options, Scoring, Template, UpstreamTurn

__all__ = [
    "Collection",
    "Message",
    "Options",
    "Scoring",
    "Template",
    "UpstreamTurn",
    "broken_id",
    "data_folder",
    "load",
]
