"""The ERP's web client in Chromium."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.company.personas import enter
from deskgym.task_suites.programs.erp.service import SERVICE


def open_(setup: Setup, page: str = "sale.sale", persona: str = "maya", shows: str = "table") -> None:
    """Open a list or a form of the ERP.

    Args:
        setup: the machine with the service ``erp`` beside it.
        page: the model whose list is shown, such as ``party.party``; with ``/`` and a number, that record's form.
        persona: the user name of the employee who is logged in.
        shows: role of an element that the page has once it is filled.

    Raises:
        SetupError: it did not come up.
    """
    enter(setup, SERVICE, persona, f"/%23erp/model/{page}", "*Tryton*", shows)
