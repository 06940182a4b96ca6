"""Airflow by Astronomer's commands, over a server that runs natively in a companion."""

from deskgym.task_suites.importers.spider2v.apps.airflow.app import APP

__all__ = ["APP"]
