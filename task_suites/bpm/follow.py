"""Carries a procedure out: maps each step to an element of the screen, and does what it says.

It is the pinned executor by which procedures are compared: the same for everybody, without a model. It reads plain
steps that name their element in quotation marks, such as ``Click on the field "Comment" and type {text}``. What is in
braces is a parameter of the case at hand; so a procedure that has the values of one case works for that case only.

What it understands, in any case, and several times in a step with ``,``, ``;``, ``and`` or ``then`` between: ``click``
on an element or the address bar, ``choose`` or ``select`` an option, ``type`` or ``enter`` a text, ``press`` keys,
``open`` or ``go to`` an address. Other words are passed over.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from deskgym.envs.action.actions import Action
from deskgym.envs.action.spaces import MODIFIERS, SPACE_KEYS
from deskgym.envs.deadline import Deadline
from deskgym.envs.episode import Bursts, Element, Screen, Script
from deskgym.envs.errors import DeskgymError, SetupError
from deskgym.task_suites.bpm.procedure_text import steps_of
from deskgym.task_suites.programs.toolkits.scripts import click

Verb = Literal["click", "choose", "type", "press", "open"]
MOST_MOVES = 200
"""That one procedure may have."""

_TIMEOUT = 10.0
_VERBS: Mapping[str, Verb] = {
    "click": "click", "tick": "click", "choose": "choose", "select": "choose", "pick": "choose", "type": "type",
    "enter": "type", "write": "type", "press": "press", "open": "open", "go to": "open", "visit": "open",
}  # fmt: skip
_VERB = re.compile(rf"(?:^|(?<=[\s(]))({'|'.join(map(re.escape, _VERBS))})(?:ing)?(?=[\s:])", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]*)"|\u201c([^\u201d]*)\u201d|(?<!\w)\'([^\']*)\'(?!\w)')
_ADDRESS = re.compile(r"(?:https?://)?[\w.{}-]+(?::\d+)?/[^\s,;\x00]*|(?:https?://)?(?:\d+\.){3}\d+:\d+")
_END = re.compile(r"[\s;,.(]*(?:\b(?:and|then)\b[\s;,.]*)*$")
_ROLES: Mapping[str, tuple[str, ...]] = {
    "button": ("push button", "toggle button"), "link": ("link",), "tab": ("page tab",), "field": ("entry", "text"),
    "list": ("combo box",), "box": ("check box",), "option": ("menu item", "list item", "radio button"),
    "status": ("radio button",),
}  # fmt: skip
_CHOICES = ("menu item", "list item", "radio button", "check box")
_NUMBERS = ("once", "twice", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_KEY_NAMES = {"return": "enter", "escape": "esc", "control": "ctrl", "del": "delete", "-": "minus"}
_KEYS = (*(key for key in SPACE_KEYS if len(key) > 1), *MODIFIERS, "minus", "plus")
_BAR = "address bar"


class NotUnderstood(DeskgymError):
    """A procedure cannot be carried out as it is written; the message says which step."""


@dataclass(frozen=True)
class Move:
    """One thing to do.

    Attributes:
        verb: what.
        target: the name of its element, the text that is typed, or the address; with parameters in braces.
        roles: that the element may have; () for any.
        keys: that are pressed together.
        count: how often.
    """

    verb: Verb
    target: str = ""
    roles: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    count: int = 1


def moves_of(procedure: str) -> list[Move]:
    """What a procedure says to do.

    Raises:
        NotUnderstood: it has more than ``MOST_MOVES``.

    Examples:
        >>> [(move.verb, move.target) for move in moves_of('1. Click on the field "Name" and type {name}')]
        [('click', 'Name'), ('type', '{name}')]
    """
    found = [move for step in steps_of(procedure) for move in _of_step(step)]
    if len(found) > MOST_MOVES:
        raise NotUnderstood(f"the procedure says {len(found)} things to do; at most {MOST_MOVES} are carried out")
    return found


def follow(procedure: str, params: Mapping[str, Any]) -> Script:
    """A script that carries a procedure out, and ends the episode with DONE, as far as it has come.

    Args:
        procedure: its text.
        params: of the case, by what stands in braces for them.
    """

    def script(screen: Screen) -> Bursts:
        try:
            for move in moves_of(procedure):
                yield from _done(screen, move, params)
        except (SetupError, NotUnderstood):
            pass  # who follows a procedure and does not find what it names gives up there
        yield [Action("done")]

    return script


def _of_step(step: str) -> Iterator[Move]:
    quotes: list[str] = []

    def hide(match: re.Match[str]) -> str:
        quotes.append(next(group for group in match.groups() if group is not None))
        return f"\x00{len(quotes) - 1}\x00"

    text = _QUOTED.sub(hide, step)
    verbs = list(_VERB.finditer(text))
    for number, verb in enumerate(verbs):
        end = verbs[number + 1].start() if number + 1 < len(verbs) else len(text)
        part = _END.sub("", text[verb.end() : end].lstrip(" :"))
        move = _move(_VERBS[verb[1].lower()], part, quotes)
        if move is not None:
            yield move


def _move(verb: Verb, part: str, quotes: Sequence[str]) -> Move | None:
    quoted = [quotes[int(number)] for number in re.findall("\x00(\\d+)\x00", part)]
    if verb == "press":
        return _pressed(part, quoted)
    if verb == "type":
        text = quoted[0] if quoted else re.sub(r"^(?:in|the text|the words?)\s+", "", part)
        return Move("type", text) if text else None
    if verb == "open":
        address = _ADDRESS.search(part)
        return Move("open", address[0]) if address else None
    if verb == "click" and _BAR in part.lower():
        return Move("click", _BAR)
    words = re.findall("[a-z]+", re.sub("\x00\\d+\x00", "", part.lower()))
    roles = next((_ROLES[word] for word in words if word in _ROLES), ())
    name = quoted[0] if quoted else next(iter(re.findall(r"\{[^}]*\}", part)), "")
    if verb == "choose":
        bare = name or re.split(r"\s(?:from|in|of|as|under)\s", part)[0].strip()
        return Move("choose", bare) if bare else None
    return Move("click", name, roles) if name or roles else None


def _pressed(part: str, quoted: Sequence[str]) -> Move | None:
    words = re.findall(r"[a-z0-9]+|-", re.split("[,;]", re.sub("\x00\\d+\x00", " ", part.lower()))[0])
    words += [word for text in quoted for word in re.findall(r"[a-z0-9]+|-", text.lower())]
    names = [_KEY_NAMES.get(word, word) for word in words]
    letters = any(name in MODIFIERS for name in names)  # without one, a letter is a word of the sentence
    keys = tuple(dict.fromkeys(name for name in names if name in _KEYS or (letters and len(name) == 1)))
    count = next((_NUMBERS.index(word) + 1 for word in words if word in _NUMBERS), 0)
    count = count or next((int(word) for word in words if word.isdecimal() and "times" in words), 1)
    return Move("press", keys=keys, count=min(count, 20)) if keys else None


def _done(screen: Screen, move: Move, params: Mapping[str, Any]) -> Bursts:
    target = _filled(move.target, params)
    if move.verb == "press":
        yield [Action("press", keys=move.keys)] * move.count
    elif move.verb == "type":
        yield [Action("press", keys=("ctrl", "a")), Action("type", text=target)]
    elif move.verb == "open" or target == _BAR:
        bar = partial(screen.find, role="entry", name="Address and search bar", timeout=_TIMEOUT)
        yield [click(bar())]  # some pages take Ctrl+L for themselves
        bar(state="focused")
        if move.verb == "open":  # Delete takes away what the bar adds to an address
            yield [Action("press", keys=("ctrl", "a")), Action("type", text=target)]
            yield [Action("press", keys=("delete",)), Action("press", keys=("enter",))]
    else:
        yield [click(_find(screen, target, move.roles if move.verb == "click" else _CHOICES))]


def _find(screen: Screen, name: str, roles: Sequence[str]) -> Element:
    """The element of that name: exactly, or as a part of its name; waits until it is there.

    One that is enabled comes before others: Chromium's own button "Forward" is not a mail's.
    """
    deadline = Deadline(_TIMEOUT)
    name = glob.escape(name)
    while True:
        places = [(role, wanted) for wanted in (name, f"*{name}*") for role in roles or (None,)]
        found = [each for role, wanted in places for each in screen.find_all(role=role, name=wanted or None)]
        if found:
            return next((each for each in found if "enabled" in each.states), found[0])
        if deadline.over:
            raise SetupError(f"there is no {' or '.join(roles) or 'element'} {name!r} on the screen")
        with suppress(SetupError):  # waits for a change
            screen.find(role=next(iter(roles), None), name=f"*{name}*", timeout=0.5)


def _filled(text: str, params: Mapping[str, Any]) -> str:
    """A text with the values of its parameters.

    Raises:
        NotUnderstood: there is no such parameter.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in params:
            raise NotUnderstood(f"{match[0]} is no parameter; there are {', '.join(params) or 'none'}")
        return str(params[match[1]])

    return re.sub(r"\{([^{}]+)\}", value, text)
