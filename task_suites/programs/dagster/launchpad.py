"""How assets are materialized by the launchpad, which leads on to the page of the run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.task_suites.programs.chromium.macros import press
from deskgym.task_suites.programs.dagster.macros import await_end
from deskgym.task_suites.programs.toolkits.scripts import click
from deskgym.task_suites.programs.toolkits.waiting import until

_TIMEOUT = 240.0  # seconds


def materialize(screen: Screen, ends: str = "SUCCESS") -> Bursts:
    """Materialize what the lineage on the screen shows, and wait for the run's end.

    The button itself leads nowhere: it shows a message with a link, which vanishes after some seconds.
    """
    button = screen.find(role="push button", name="materialization Materialize*", state="sensitive", timeout=_TIMEOUT)
    screen.find(role="push button", name="arrow_drop_down", timeout=_TIMEOUT)
    yield [click(nearest(screen.find_all(role="push button", name="arrow_drop_down"), button))]
    yield from press(screen, "*Open launchpad", "menu item")
    seen: list[Element] = []

    def rests() -> bool:
        seen.append(screen.find(name="open_in_new Materialize", state="sensitive", timeout=_TIMEOUT))
        return seen[-2:] == [seen[-1]] * 2

    until(rests, "the launchpad, which opens slowly, does not come to rest", _TIMEOUT, poll=0.2)
    yield [click(seen[-1])]
    await_end(screen, ends)


def nearest(elements: Sequence[Element], to: Element) -> Element:
    """The element whose middle is nearest to that of another one."""
    return min(elements, key=lambda each: math.dist(each.center, to.center))
