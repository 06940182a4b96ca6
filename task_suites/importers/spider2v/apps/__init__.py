"""The apps of upstream's tasks: one module each, whose ``APP`` says how its tasks are carried out."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from deskgym.task_suites.importers.spider2v.frame import App


@cache
def find_app(name: str) -> App | None:
    """The app of a folder of upstream's; None where its tasks do not run here."""
    if name not in {module.name for module in iter_modules(__path__)}:
        return None
    app = import_module(f"{__name__}.{name}").APP
    assert isinstance(app, App)
    return app
