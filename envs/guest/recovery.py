"""Makes a desktop readable again, whatever the agent has done to it: for evaluators, when the agent has no more turn.

Who grabs the X server, the pointer or the keyboard loses it by being ended, and so does who covers the screen. The
window manager is started again if it has gone, and windows that nobody could see are put back. What has ended stays so.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from Xlib import X, Xutil, error
from Xlib.ext import res

from deskgym.envs.guest.desktop import Desktop
from deskgym.envs.guest.programs import Programs
from deskgym.envs.guest.x11.connection import PATIENCE, when_stalled

_LAST_RESORT = 3 * PATIENCE
_PAUSE = 0.05


class Recovery:
    """What is needed to bring one desktop back.

    Args:
        desktop: it.
        programs: what the setup has launched there.
    """

    def __init__(self, desktop: Desktop, programs: Programs) -> None:
        self._desktop, self._programs = desktop, programs
        self._windows: list[dict[str, Any]] | None = None  # as the agent found them
        when_stalled(self._free_server)

    def remember(self) -> None:
        """Called before each action: how the windows are before the first one, and that the agent has its turn now."""
        if self._windows is None:
            self._windows = [w for w in self._desktop.screen.windows.all() if w["type"] == "normal"]
            self._programs.agent_begins()

    def forget(self) -> None:
        """Another episode begins: what the agent found in this one is of no use."""
        self._windows = None

    def _free_server(self, waited: float) -> None:
        """The X server does not answer: if it rests meanwhile, somebody has grabbed it.

        First whatever the agent has started in the background is ended, and at last the launched programs too.
        """
        own = self._desktop.manager is not None  # of a desktop that is not ours, only what the agent has started
        if own and waited < _LAST_RESORT and _is_busy(self._desktop.server.service.pid):
            return
        self._programs.end_others(self._desktop, [] if own and waited >= _LAST_RESORT else None)

    async def recover(self) -> dict[str, Any]:
        """End what the agent has started, and put back what it has hidden; ``ended`` says how many processes."""
        desktop = self._desktop
        answer = self._programs.end_others(desktop)
        if desktop.manager is not None:
            desktop.screen.connection.ensure()
            self.end_clients()
            await desktop.keep_managed()
            await self._show()
        return answer

    def end_clients(self) -> None:
        """Close all connections to X that are no program's that may live: some windows outlive their makers."""
        x = self._desktop.screen.connection
        allowed = {0, 1, os.getpid(), *self._desktop.own}
        allowed.update(pid for family in self._programs.launched.all() for pid in family.members())
        clients = [client.resource_base for client in x.display.res_query_clients().clients]
        mask = x.display.display.info.resource_id_mask
        found = x.display.res_query_client_ids([{"client": 0, "mask": res.LocalClientPIDMask}])
        processes = {one.spec.client & ~mask: one.value[0] for one in found.ids if one.value}
        foreign = {base for base in clients if processes.get(base, -1) not in allowed} - {0, clients[0]}
        for window in self._top_levels():
            base = window.id & ~mask
            if base in foreign:
                foreign.discard(base)
                window.kill_client()
        x.display.sync()

    def _top_levels(self) -> list[Any]:
        """The windows below the root window, and those in a window manager's frames."""
        tops = list(self._desktop.screen.connection.root.query_tree().children)
        for window in list(tops):
            try:
                tops += window.query_tree().children
            except error.XError:
                continue
        return tops

    async def _show(self) -> None:
        """Put back the windows that the agent found and that nobody can see; the others stay as they are."""
        x, windows = self._desktop.screen.connection, self._desktop.screen.windows
        end = time.monotonic() + 2.0
        for old in self._windows or []:
            window = x.display.create_resource_object("window", old["id"])
            while (problem := self._hidden(window, old)) and time.monotonic() < end:
                if problem == "unmapped":
                    window.map()
                if problem == "misplaced":
                    window.configure(**{name: max(0, old[name]) for name in ("x", "y", "width", "height")})
                else:
                    windows.show(old["id"])
                x.display.sync()
                await asyncio.sleep(_PAUSE)

    def _hidden(self, window: Any, old: dict[str, Any]) -> str:
        """Why nobody can see a window; "" where somebody can, or where it is no more."""
        x = self._desktop.screen.connection
        try:
            viewable = window.get_attributes().map_state == X.IsViewable
            state = x.property(window, "WM_STATE")
            size = window.get_geometry()
            origin = x.root.translate_coords(window, 0, 0)
        except error.XError:
            return ""
        if not viewable:
            iconic = state is not None and len(state) and state[0] == Xutil.IconicState
            return "iconic" if iconic or self._on_other_desktop(window) else "unmapped"
        seen = (
            min(place + length, most) - max(place, 0) >= before / 2
            for place, length, most, before in zip(
                (origin.x, origin.y), (size.width, size.height), x.size, (old["width"], old["height"]), strict=True
            )
        )
        return "" if all(seen) else "misplaced"

    def _on_other_desktop(self, window: Any) -> bool:
        x = self._desktop.screen.connection
        own, now = x.property(window, "_NET_WM_DESKTOP"), x.property(x.root, "_NET_CURRENT_DESKTOP")
        return own is not None and now is not None and len(own) > 0 and len(now) > 0 and own[0] != now[0]


def _is_busy(pid: int) -> bool:
    """Whether a process is at work, and does not wait for anything."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return not file.read().rpartition(b")")[2].split()[0] == b"S"
    except OSError:
        return False
