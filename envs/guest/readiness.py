"""What shows that a launched program is ready."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from deskgym.envs.guest.desktop import Desktop
from deskgym.envs.guest.launched import Family, name_of

POLL = 0.05
"""Seconds between two looks at what tells of no change by itself."""


@dataclass(frozen=True)
class Conditions:
    """What must be there, all of it.

    Attributes:
        window: a window that was not there before, by ``title`` and ``class`` (regular expressions), ``type`` (such as
            ``"normal"`` or ``"dialog"``; a ``"splash"`` screen only counts if it is named) and ``size``, the least
            width and height.
        app: the program's name in the accessibility tree.
        node: an accessible element of it: ``role``, ``name`` or ``pattern``, a regular expression found in the name.
        port: a TCP port of 127.0.0.1 that accepts connections.
        process: the name of a process of the program, such as ``"soffice.bin"``.
        file: a path that is there.
    """

    window: Mapping[str, Any] | None = None
    app: str | None = None
    node: Mapping[str, Any] | None = None
    port: int | None = None
    process: str | None = None
    file: str | None = None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Conditions:
        """From a request. Raises ValueError for an unknown key."""
        legal = [entry.name for entry in fields(cls)]
        if unknown := set(values).difference(legal):
            raise ValueError(f"wait has unknown keys {sorted(unknown)}; legal are {', '.join(legal)}")
        return cls(**values)

    @property
    def need_desktop(self) -> bool:
        """Whether a desktop is looked at."""
        return self.window is not None or self.app is not None or self.node is not None

    def __str__(self) -> str:
        given = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return " and ".join(f"{name} {value!r}" for name, value in given.items() if value is not None)


async def wait_until_ready(
    desktop: Desktop | None,
    family: Family,
    wanted: Conditions,
    before: Container[tuple[int, int]],
    place: Sequence[int] | str | None,
    timeout: float,
) -> dict[str, Any]:
    """Wait until all of it is there, and the window is where it shall be.

    Returns:
        ``window``, if one was waited for.

    Raises:
        TimeoutError: says what was not there, and what was there instead.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout
    waits: list[Any] = []
    if wanted.window is not None and desktop is not None:
        waits.append(_place(desktop, wanted.window, before, place, end))
    if desktop is not None and (wanted.app is not None or wanted.node is not None):
        node = wanted.node or {}
        pattern = node.get("pattern")
        waits.append(
            desktop.reader.wait_for(
                wanted.app,
                role=node.get("role"),
                name=node.get("name") if pattern is None else re.compile(pattern),
                deadline=timeout,
            )
        )
    if wanted.port is not None:
        waits.append(_answers(wanted.port, end))
    if wanted.process is not None:
        waits.append(_has_process(family, wanted.process, end))
    if wanted.file is not None:
        path = wanted.file
        waits.append(_until(lambda: os.path.exists(path), end, lambda: f"there is no file {path}"))
    found = await asyncio.gather(*waits, return_exceptions=True)
    failed = [each for each in found if isinstance(each, BaseException)]
    for each in failed:
        if not isinstance(each, TimeoutError):
            raise each
    if failed:
        raise TimeoutError("; ".join(map(str, failed)))
    return {"window": found[0]} if wanted.window is not None else {}


async def _place(
    desktop: Desktop,
    wanted: Mapping[str, Any],
    before: Container[tuple[int, int]],
    place: Sequence[int] | str | None,
    end: float,
) -> Any:
    windows, left = desktop.screen.windows, end - asyncio.get_running_loop().time()
    found = await windows.wait_for(
        wanted.get("title"), wanted.get("class"), False, left, before, wanted.get("type"), wanted.get("size")
    )
    if found is None or place is None:
        return found
    return await windows.place(found["id"], place, end)


async def _answers(port: int, end: float) -> None:
    problem: Exception | None = None
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            problem = error
        else:
            writer.close()
            return
        if asyncio.get_running_loop().time() >= end:
            raise TimeoutError(f"nobody answers at port {port}: {problem}")
        await asyncio.sleep(POLL)


async def _has_process(family: Family, name: str, end: float) -> None:
    def seen() -> set[str]:
        return {name_of(pid) for pid in family.members()}

    def missing() -> str:
        return f"no process {name!r} belongs to the program; there are {', '.join(sorted(seen())) or 'none'}"

    await _until(lambda: name[:15] in seen(), end, missing)


async def _until(check: Callable[[], bool], end: float, problem: Callable[[], str]) -> None:
    while not check():
        if asyncio.get_running_loop().time() >= end:
            raise TimeoutError(problem())
        await asyncio.sleep(POLL)
