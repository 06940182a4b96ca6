"""The verbs of the discrete action: what each does, to which elements, and with which argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from deskgym.envs.action.actions import Action, split_keys
from deskgym.envs.action.element_masks import ElementMasks, Mask, Point
from deskgym.envs.errors import near

Make = Callable[[Point | None, str], list[Action]]


@dataclass(frozen=True)
class Verb:
    """One verb of the discrete action.

    Attributes:
        name: as in ``discrete={"verbs": [...]}``.
        make: from the target's pixel (or None) and the argument's text (or "") to the actions that are carried out.
        targets: which elements it can act on now, bool (N,); None where the verb reads no target.
        argument: what it reads: a word of the task, a key, or nothing.
        grid: whether it may aim at a grid cell too.
        when: whether it can be done at all now.
    """

    name: str
    make: Make
    targets: Callable[[ElementMasks], Mask] | None = None
    argument: Literal["", "word", "key"] = ""
    grid: bool = False
    when: Callable[[ElementMasks], bool] = lambda masks: True


def _click(button: str = "left", clicks: int = 1) -> Make:
    return lambda at, _: [Action("click", at[0], at[1], button=button, clicks=clicks)] if at else []


def _scroll(dy: int) -> Make:
    return lambda at, _: [Action("scroll", at[0], at[1], dy=dy)] if at else []


def _fill(end: str) -> Make:
    return lambda at, text: [*_click()(at, ""), Action("press", keys=("ctrl", "a")), Action("type", text=text + end)]


VERBS: Mapping[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("click", _click(), lambda s: s.clickable, grid=True),
        Verb("double_click", _click(clicks=2), lambda s: s.clickable, grid=True),
        Verb("right_click", _click("right"), lambda s: s.clickable, grid=True),
        Verb("fill", _fill(""), lambda s: s.editable, "word"),
        Verb("submit", _fill("\n"), lambda s: s.editable, "word"),
        Verb("type", lambda _, text: [Action("type", text=text)], None, "word", when=lambda s: s.typing),
        Verb("press", lambda _, key: [Action("press", keys=split_keys(key))], None, "key"),
        Verb("scroll_up", _scroll(-3), lambda s: s.reachable, grid=True),
        Verb("scroll_down", _scroll(3), lambda s: s.reachable, grid=True),
        Verb("wait", lambda *_: [Action("wait", seconds=0.5)]),
        Verb("answer", lambda _, text: [Action("answer", text=text)], None, "word"),
        Verb("done", lambda *_: [Action("done")]),
        Verb("fail", lambda *_: [Action("fail")]),
    )
}
"""The verbs at hand. ``fill`` replaces an editable element's text, ``submit`` presses Return too, ``type`` types where
the focus is. The default is all of them."""


def load_verb(name: str) -> Verb:
    """A verb by its name in ``VERBS``, or by ``"module:NAME"``.

    Raises:
        ValueError: there is none.
    """
    if name in VERBS:
        return VERBS[name]
    module, _, attribute = str(name).partition(":")
    if not attribute:
        raise ValueError(
            f"unknown discrete verb {name!r}; legal are {', '.join(VERBS)}, or 'module:NAME'{near(name, VERBS)}"
        )
    try:
        verb = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"discrete verb {name!r} cannot be loaded: {error}") from error
    if not isinstance(verb, Verb):
        raise ValueError(f"discrete verb {name!r} is a {type(verb).__name__}; legal is a Verb")
    return verb
