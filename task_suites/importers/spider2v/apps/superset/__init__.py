"""Superset: charts, dashboards and SQL in Chromium, over a server that runs natively in a companion."""

from deskgym.task_suites.importers.spider2v.apps.superset.app import APP

__all__ = ["APP"]
