"""Watches who manages the settings of GTK programs: GTK 3 loads, while it runs, the modules that the manager names."""

from __future__ import annotations

from typing import Any

from Xlib import X
from Xlib.ext import xfixes

from deskgym.envs.guest.x11.connection import XConnection

SELECTION = "_XSETTINGS_S0"
"""Its owner is the manager (XSETTINGS specification 0.5). Any client may become it, and stop being it."""
_SET_OWNER_MASK = 1 << xfixes.XFixesSetSelectionOwnerNotify


class SettingsManagerWatch:
    """Tells whether there has been a manager since this was made.

    What the X server has told us nobody can take back. Whoever ends our connection may have been the manager meanwhile.
    """

    def __init__(self, connection: XConnection) -> None:
        self._connection, self._found, self._watches = connection, "", False
        connection.on_connect(self._watch)
        connection.on(connection.display.query_extension("XFIXES").first_event, self._on_owner)

    def seen(self) -> str:
        """What a message says of a manager that there has been; "" for none. Raises DisplayLost."""
        self._connection.ensure()
        self._connection.pump()
        return self._found

    def _watch(self) -> None:
        if self._watches:
            self._found = self._found or "the guest's connection to the X server was ended"
        self._watches = True
        x = self._connection
        x.display.xfixes_query_version()
        x.display.xfixes_select_selection_input(x.root, x.atom(SELECTION), _SET_OWNER_MASK)
        x.display.sync()

    def _on_owner(self, event: Any) -> None:
        if event.selection == self._connection.atom(SELECTION) and event.owner != X.NONE:
            self._found = "somebody became the manager of XSETTINGS, which names modules that GTK programs load"
