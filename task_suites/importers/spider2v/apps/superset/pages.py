"""What oracles of Superset's tasks do in its pages, with mouse and keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.task_suites.importers.spider2v.frame import Play
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.programs.toolkits import scripts

_TIMEOUT = 60.0
Acts = Iterator[BurstOrProgram]


def played(*parts: Callable[[Screen], Acts]) -> Play:
    """A script of these parts, on a page that is shown small and whole."""

    def script(screen: Screen) -> Acts:
        if screen.find_all(window="*Geany*"):
            yield [Action("press", keys=("alt", "tab"))]
        yield from _macro("chromium.overview")(screen)
        for part in parts:
            yield from part(screen)
        yield [Action("done")]

    return script


def _macro(name: str) -> Callable[..., Acts]:
    program = load_program(name.partition(".")[0])
    found: Callable[..., Acts] = program.macros[name]
    return found


def macro(name: str, *arguments: object, **named: object) -> Callable[[Screen], Acts]:
    """One of the programs' macros with its arguments."""
    return lambda screen: _macro(name)(screen, *arguments, **named)


def page(path: str, shows: str, role: str = "push button") -> Callable[[Screen], Acts]:
    """Type the address of a page, under the name of this machine that the setup's login is for."""

    def part(screen: Screen) -> Acts:
        yield from _macro("chromium.go")(screen, f"localhost:8088{path}", "*", "document web")
        screen.find(role=role, name=shows, timeout=_TIMEOUT)

    return part


def press(name: str, role: str = "push button", shows: str = "") -> Callable[[Screen], Acts]:
    """Click the last element of a name, and wait for another one."""
    return macro("superset.press", name, role, shows)


def fill(placeholder: str, text: str) -> Callable[[Screen], Acts]:
    """Replace what is in a field of a name."""
    return macro("superset.put", placeholder, text)


def replace_text(old: str, text: str) -> Callable[[Screen], Acts]:
    """Replace a field's content, which it is known by."""

    def part(screen: Screen) -> Acts:
        yield scripts.fill(screen.find(role="entry", text=old, timeout=_TIMEOUT), text, end="")
        screen.find(role="entry", text=text, timeout=_TIMEOUT)

    return part


# the tasks


def delete_chart(name: str, word: str = "DELETE") -> Play:
    """Delete a chart in the list of charts."""
    return played(
        page("/chart/list/", "+ CHART"),
        macro("superset.of_row", name, "trash"),
        fill('TYPE "DELETE" TO CONFIRM', word),
        *([macro("superset.confirm", "DELETE")] if word == "DELETE" else []),
    )


def chart(kind: str, save: str, *boxes: Callable[[Screen], Acts]) -> Play:
    """Make a chart of the imported dataset, and save it under a name; the shop's own datasets have 1 and 2."""
    return played(
        page(f"/explore/?datasource_type=table&datasource_id=3&viz_type={kind}", "CREATE CHART"),
        *boxes,
        *([macro("superset.save_chart", save)] if save else []),
    )


def connect(name: str, host: str = "db") -> Play:
    """Connect a PostgreSQL server in the form for it."""
    fields = {"e.g. 127.0.0.1": host, "e.g. world_population": "superset", "e.g. Analytics": "superset"}
    others = {"e.g. 5432": "5432", "e.g. [*][*][*][*][*][*][*][*]": "superset"}

    def fill_others(screen: Screen) -> Acts:
        for field, value in others.items():
            yield scripts.fill(screen.find(name=field, timeout=_TIMEOUT), value, end="")

    return played(
        page("/databaseview/list/", "+ DATABASE"),
        press("+ DATABASE", shows="default-icon PostgreSQL"),
        press("default-icon PostgreSQL", shows="e.g. 5432"),
        *(fill(field, value) for field, value in fields.items()),
        fill_others,
        replace_text("PostgreSQL", name),
        press("CONNECT", shows="FINISH"),
        macro("superset.confirm", "FINISH"),
    )


def allow_uploads(database: str, ticks: bool = True) -> Play:
    """Let files be uploaded to a database, in the dialog for it."""

    def scroll(screen: Screen) -> Acts:
        x, y = screen.find(name="ROOT CERTIFICATE", timeout=_TIMEOUT).center
        yield [Action("scroll", x, y, dy=30)]

    def tick(screen: Screen) -> Acts:
        box = screen.find(role="check box", name="*Allow file uploads to database*", timeout=_TIMEOUT)
        yield [scripts.click(box)]

    return played(
        page("/databaseview/list/", "+ DATABASE"),
        macro("superset.of_row", database, "edit-alt"),
        press("ADVANCED", "page tab", shows="*Security*"),
        press("*Security*", "page tab", shows="ROOT CERTIFICATE"),
        scroll,
        *([tick] if ticks else []),
        macro("superset.confirm", "FINISH"),
    )
