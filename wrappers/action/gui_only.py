"""GuiOnly: no code but mouse and keyboard calls, and no console or terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from deskgym.envs.action.actions import STOPS, Action
from deskgym.envs.action.discrete import DiscreteActions
from deskgym.envs.action.discrete_verbs import Verb
from deskgym.envs.errors import ActionError, GuestCallError, MachineError, near
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.options import checked
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers.action.gui_code import Deed, GuiPrograms, read_program
from deskgym.wrappers.base import DesktopWrapper

DEFAULT_CONSOLES: Sequence[Mapping[str, str]] = (
    {"role": "terminal"},
    {"class": "*term*"},
    {"class": "*konsole*"},
    {"class": "*rxvt*"},
    {"class": "alacritty"},
    {"class": "kitty"},
    {"role": "page tab", "name": "*console*"},
    {"role": "*menu item", "name": "*console*"},
    {"role": "frame", "name": "*console*"},
    {"name": "*command line*"},
)
"""Terminal windows, with AT-SPI's role for their text or by the names of known emulators; and the programs' own:
tabs, menu entries and windows called console (GRASS), and ChimeraX's Command Line Interface. KAlgebra's Calculator tab
is not among them, since its ordinary tasks need it."""

FIELDS = ("role", "name", "window", "class")
_FREE = (*STOPS, "wait", "key_up")
_BIT = {name: 1 << STATE_BITS.index(name) for name in ("focused", "editable")}
_WINDOW_COLUMNS = ("x", "y", "width", "height")


class GuiOnly(DesktopWrapper):
    """Leaves the agent the graphical interface only, as ScienceBoard's ``Dual`` tasks do: no code and no console.

    - A code action is a straight program of pyautogui's mouse and keyboard calls with literal arguments (and
      ``time.sleep``, imports of the two, assignments of literals). It is checked by its syntax, on the host, before
      anything of it runs.
    - No action of any form aims into a console, or presses keys while one has the keyboard focus. Discrete actions that
      would are masked.

    Anything else is an illegal action: raised or fed back, as the env's ``invalid_action`` says; nothing of it is done.
    A sample of the space of computer actions may point at a console too: ``invalid_action="feedback"`` suits training.
    What an action does is judged by the screen that the agent saw before it. While a console has the focus, keys are
    allowed after a click, in the same action, into a text field. What an action itself opens is seen only after it.

    The order of wrappers does not matter: the check is made in the desktop, on what it is about to carry out.

    Args:
        env: a DesktopEnv, wrapped or not.
        consoles: what is off limits: each a dict of globs, in lower case, that must all fit: ``role`` and ``name`` of
            an accessible element, ``window``, the name of the window that it is in, or ``class``, the X class of a
            window. What lies in such an element belongs to it. None is ``DEFAULT_CONSOLES``.

    Raises:
        ValueError: an entry is not legal.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = GuiOnly(gym.make("deskgym/Science-v0", action="code"))  # doctest: +SKIP
        >>> env.step("import os")  # doctest: +SKIP
        deskgym.envs.errors.ActionError: line 1: 'import os' is not allowed (an import of os): ...
    """

    @checked
    def __init__(
        self, env: gymnasium.Env[dict[str, Any], Any], consoles: Sequence[Mapping[str, str]] | None = None
    ) -> None:
        if consoles is not None:
            consoles = [dict(entry) for entry in consoles]
        gymnasium.utils.RecordConstructorArgs.__init__(self, consoles=consoles)
        super().__init__(env)
        for entry in consoles or ():
            _check(entry)
        self.consoles = tuple(DEFAULT_CONSOLES if consoles is None else consoles)
        self._seen: Elements = NO_ELEMENTS
        self._places: NDArray[np.int32] = np.zeros((0, 4), np.int32)
        self._typing = False
        self._pointer: tuple[float, float] | None = None
        if env.action_space is self.desktop.action_space and isinstance(env.action_space, UnicodeText):
            self.action_space = GuiPrograms(env.action_space.max_length)
        self.desktop.observer.reads_elements = True
        self.desktop.guards.append(self._guard)
        if self.desktop.discrete is not None:
            self.desktop.discrete.limits.append(self._limit)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env."""
        self._pointer = None
        return self.env.reset(seed=seed, options=options)

    def console_places(self) -> NDArray[np.int32]:
        """Where consoles are now: x, y, width, height in screen pixels, int32 (N, 4)."""
        self._look()
        return self._places

    def _guard(self, parsed: Sequence[Action] | str) -> None:
        """What the desktop asks before it carries anything out."""
        deeds = read_program(parsed) if isinstance(parsed, str) else [d for a in parsed for d in _deeds(a)]
        self._look()
        self._pointer = self._judge(deeds)

    def _judge(self, deeds: Sequence[Deed]) -> tuple[float, float] | None:
        """Where the deeds leave the pointer; ActionError where one of them is not allowed."""
        typing, pointer = self._typing, self._pointer
        for deed in deeds:
            where = f"line {deed.line}: {deed.text!r}" if deed.line else deed.text
            if deed.mouse:
                pointer = self._moved(deed, pointer, where)
                if pointer is not None:
                    if self._inside(np.array([pointer])).any():
                        raise ActionError(f"{where} points at a console, which is off limits: use the program's window")
                    typing = typing and not (deed.click and self._takes_text(pointer))
            if deed.keys and typing:
                raise ActionError(f"{where} types into a console, which is off limits: click something else first")
        return pointer

    def _limit(self, verb: Verb, discrete: DiscreteActions) -> NDArray[np.bool_]:
        """The targets of a discrete verb that are in no console."""
        self._look()
        centers, first_cell = discrete.element_masks.centers, discrete.max_elements
        allowed = np.ones(discrete.nvec[1], bool)
        if verb.targets is None:
            allowed[:] = self._can([deed for action in verb.make(None, "a") for deed in _deeds(action)])
            return allowed
        allowed[: len(centers)] = ~self._inside(centers)
        if discrete.grid:
            allowed[first_cell:] = ~self._inside(np.array(discrete.grid))
        if self._typing:  # rare, and slow: each target's keys may go to a console
            for target in (*range(len(centers)), *range(first_cell, len(allowed))):
                actions = verb.make(discrete.point(target), "a") if allowed[target] else []
                allowed[target] &= self._can([deed for action in actions for deed in _deeds(action)])
        return allowed

    def _can(self, deeds: Sequence[Deed]) -> bool:
        try:
            self._judge(deeds)
        except ActionError:
            return False
        return True

    def _look(self) -> None:
        """Find the consoles on the screen that the agent saw last."""
        elements = self.desktop.elements
        if elements is self._seen:
            return
        rows, inside = elements.rows, self._consoles(elements)
        windows = self._windows()
        self._seen = elements
        self._places = np.concatenate([rows[inside][:, :4], windows[:, :4]])
        focused = (rows[:, 5] & _BIT["focused"]) != 0
        self._typing = bool((focused & inside).any() or windows[:, 4].any())

    def _consoles(self, elements: Elements) -> NDArray[np.bool_]:
        """Which elements are consoles or lie in one: bool (N,)."""
        entries = [entry for entry in self.consoles if "class" not in entry]
        inside = np.zeros(len(elements), bool)
        parents, windows = elements.rows[:, 6].tolist(), elements.rows[:, 7].tolist()
        for k, (role, name, *_) in enumerate(elements.texts):
            title = elements.texts[windows[k]][1] if windows[k] >= 0 else ""
            facts = {"role": role, "name": name, "window": title}
            inside[k] = any(_fits(entry, facts) for entry in entries)
            if 0 <= parents[k] < k:  # parents come before their children
                inside[k] |= inside[parents[k]]
        return inside

    def _windows(self) -> NDArray[np.int32]:
        """The windows of terminal emulators: x, y, width, height, active: int32 (N, 5)."""
        entries = [entry for entry in self.consoles if "class" in entry]
        found = []
        try:
            windows = self.desktop.machine.guest.call("windows")["windows"] if entries else []
        except (GuestCallError, MachineError):
            windows = []  # the machine's next use tells of it
        for window in windows:
            facts = {"class": str(window["class"]), "window": str(window["title"]), "name": str(window["title"])}
            if any(_fits(entry, facts) for entry in entries):
                found.append([*(int(window[name]) for name in _WINDOW_COLUMNS), int(window["active"])])
        return np.array(found, np.int32).reshape(-1, 5)

    def _moved(self, deed: Deed, pointer: tuple[float, float] | None, where: str) -> tuple[float, float] | None:
        """Where the pointer is in this step of an action, within the screen; None is unknown."""
        if deed.point is not None:
            x, y = deed.point
        elif deed.offset is not None:
            if pointer is None:
                raise ActionError(f"{where} moves the pointer from a place that is not known: use moveTo first")
            x, y = pointer[0] + deed.offset[0], pointer[1] + deed.offset[1]
        else:
            return pointer
        width, height = self.desktop.screen_size
        return min(max(int(x), 0), width - 1), min(max(int(y), 0), height - 1)

    def _inside(self, points: NDArray[Any]) -> NDArray[np.bool_]:
        """Which points, (N, 2), are in a console: bool (N,)."""
        offsets = points[:, None, :] - self._places[None, :, :2]
        within = ((offsets >= 0) & (offsets < self._places[None, :, 2:])).all(axis=2)
        return np.asarray(np.any(within, axis=1), bool)

    def _takes_text(self, point: tuple[float, float]) -> bool:
        """Whether a click there takes the keyboard focus away from where it is, for sure: text is edited there."""
        rows = self._seen.rows
        offsets = np.array(point) - rows[:, :2]
        hit = rows[((offsets >= 0) & (offsets < rows[:, 2:4])).all(axis=1)]
        if not len(hit):
            return False
        smallest = hit[np.argmin(hit[:, 2].astype(np.int64) * hit[:, 3])]
        return bool(smallest[5] & _BIT["editable"])


def _deeds(action: Action) -> list[Deed]:
    """An action as the deeds that a program would do; its keys are pressed where the focus is before it clicks."""
    if action.verb in _FREE:
        return []
    shown, mouse = str(action.to_dict()), action.verb not in ("type", "press", "key_down", "hold")
    deeds = [Deed(0, shown, keys=not mouse or bool(action.keys))] if not mouse or action.keys else []
    if mouse:
        click = action.verb == "click"
        points = [(action.x, action.y), (action.to_x, action.to_y)]
        deeds += [Deed(0, shown, mouse=True, click=click)] if action.x is None else []
        deeds += [
            Deed(0, shown, point=(x, y), mouse=True, click=click) for x, y in points if x is not None and y is not None
        ]
    return deeds


def _fits(entry: Mapping[str, str], facts: Mapping[str, str]) -> bool:
    return all(fnmatchcase(facts.get(field, "").lower(), glob.lower()) for field, glob in entry.items())


def _check(entry: Mapping[str, str]) -> None:
    if not entry:
        raise ValueError("a console of no fields would be everything; give one of role, name, window, class")
    for field, glob in entry.items():
        if field not in FIELDS:
            raise ValueError(
                f"unknown field {field!r} of a console; legal are {', '.join(FIELDS)}{near(field, FIELDS)}"
            )
        if not isinstance(glob, str):
            raise ValueError(f"console {field}={glob!r}; legal is a text, in which * is a wildcard")
    if "class" in entry and "role" in entry:
        raise ValueError(f"console {dict(entry)!r}: class is of windows and role of elements; give one of them")
