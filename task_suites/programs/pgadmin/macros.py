"""What a person does in pgAdmin's Query Tool, as macros for oracles and wrong attempts.

pgAdmin shows a statement's end in its status line. It may come after the step has settled, so a macro waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.toolkits import scripts
from deskgym.task_suites.programs.toolkits.waiting import until

_TIMEOUT = 30.0
_SAME = 5.0  # seconds after which an end that reads as the one before it is taken for another one


def write(screen: Screen, sql: str) -> Bursts:
    """Replace what the worksheet has."""
    place = screen.find(role="scroll pane", name="Query", timeout=_TIMEOUT)  # the editor in it grows with its text
    yield scripts.fill(place, sql, end="")
    last = sql.rstrip().splitlines()[-1].strip()

    def typed() -> bool:
        return any(element.text.strip() == last for element in screen.find_all(role="section"))

    until(typed, f"the worksheet does not show {last!r}", _TIMEOUT)


def run(screen: Screen, sql: str) -> Bursts:
    """Write SQL into the worksheet and execute all of it."""
    yield from write(screen, sql)
    before, start = _end(screen), time.monotonic()
    yield [Action("press", keys=("f5",))]

    def ended() -> bool:
        now = _end(screen)
        return bool(now) and (now != before or time.monotonic() - start > _SAME)

    until(ended, "the statement does not end", _TIMEOUT)


def download(screen: Screen) -> Bursts:
    """Save the result as a CSV file in ~/Downloads, and wait until Chromium has it."""
    yield [scripts.click(screen.find(role="push button", name="Save results to file", timeout=_TIMEOUT))]
    screen.find(name="data-*.csv", timeout=_TIMEOUT)
    screen.find(name="*Done", timeout=_TIMEOUT)


def _end(screen: Screen) -> str:
    """What the status line says of a statement that has ended, with its time; "" while one runs, or none has."""
    found = [element.text for element in screen.find_all(role="section") if element.text.startswith("Query complete")]
    return found[0] if found else ""


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "pgadmin.write": write,
    "pgadmin.run": run,
    "pgadmin.download": download,
}
"""By the names that task files use."""
