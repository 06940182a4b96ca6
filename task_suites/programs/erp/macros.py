"""What a person does in the ERP's web client, as macros for oracles and wrong attempts.

The client takes Ctrl+L for itself, and makes a field of numbers another kind of element while somebody types in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.erp.service import PORT
from deskgym.task_suites.programs.toolkits import scripts

_TIMEOUT = 20.0
_LOOKS = 40


def go(screen: Screen, page: str, shows: str, as_: str = "entry") -> Bursts:
    """Type the address of a list (``sale.sale``) or a form (``sale.sale/2``), and wait for an element of it."""
    url = f"127.0.0.1:{PORT}/#erp/model/{page}"
    bar = partial(screen.find, role="entry", name="Address and search bar", timeout=_TIMEOUT)
    yield [scripts.click(bar())]
    bar(state="focused")
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=url)]
    bar(text=f"{url}*")
    yield [Action("press", keys=("delete",)), Action("press", keys=("enter",))]
    screen.find(role=as_, name=shows, timeout=_TIMEOUT)


def fill(screen: Screen, name: str, text: str, nth: int = 0) -> Bursts:
    """Replace the text of a field.

    A form moves while its values come: what was clicked by then is another field, and this one is clicked again.

    Raises:
        SetupError: it does not get the keyboard.
    """
    for wait in (3.0, 3.0, _TIMEOUT):
        yield [scripts.click(screen.find(role="entry", name=name, nth=nth, timeout=_TIMEOUT))]
        with suppress(SetupError):
            screen.find(name=name, state="focused", timeout=wait)
            break
    else:
        raise SetupError(f"erp.fill: the field {name!r} does not get the keyboard")
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    screen.find(name=name, text=text, timeout=_TIMEOUT)


def save(screen: Screen) -> Bursts:
    """Press "Save", and wait until there is nothing left to save.

    Raises:
        SetupError: it was not saved.
    """
    button = partial(screen.find, role="push button", name="Save", timeout=_TIMEOUT)
    yield [scripts.click(button(state="enabled"))]
    for _ in range(_LOOKS):
        if "enabled" not in button().states:
            return
        yield [Action("wait", seconds=0.5)]
    raise SetupError("erp.save: there is still something to save")


MACROS: Mapping[str, Callable[..., Bursts]] = {"erp.go": go, "erp.fill": fill, "erp.save": save}
"""By the names that task files use."""
