"""The screen as scripts see it: accessible elements that can be searched and waited for."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import SetupError
from deskgym.envs.guest.step import ElementsRequest
from deskgym.envs.observation.elements import Element, Elements

if TYPE_CHECKING:
    from deskgym.envs.machines.base import Machine

MAX_ELEMENTS = 4096
_NEAR_MISSES = 6


class Screen:
    """What an oracle sees: a machine's accessible elements, which an agent has too, and nothing else.

    Args:
        machine: started, with a display.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self._machine.display.size

    def elements(self) -> Elements:
        """All visible elements now."""
        report = self._machine.display.perform([], None, elements=ElementsRequest(MAX_ELEMENTS))
        assert report.elements is not None  # they were asked for
        return Elements.from_reading(report.elements)

    def find_all(
        self,
        *,
        role: str | None = None,
        name: str | None = None,
        text: str | None = None,
        window: str | None = None,
    ) -> Sequence[Element]:
        """All elements that fit now, in document order; does not wait. See ``find``."""
        return self._matching(self.elements(), role, name, text, window)

    def find(
        self,
        *,
        role: str | None = None,
        name: str | None = None,
        text: str | None = None,
        window: str | None = None,
        state: str | None = None,
        nth: int = 0,
        timeout: float = 10.0,
    ) -> Element:
        """The ``nth`` element that fits all that is given; waits until it is there.

        Args:
            role: AT-SPI role name, equal.
            name: accessible name: equal, or a glob where it contains ``*``.
            text: text content: equal, or a glob where it contains ``*``.
            window: title of the window that it is in: equal, or a glob where it contains ``*``.
            state: a state that it has, such as ``"focused"``.
            nth: which of several, in document order; negative counts from the last.
            timeout: seconds to wait for it.

        Raises:
            SetupError: it never came; the message says what was looked for and lists near misses.
        """
        deadline = Deadline(timeout, self._machine.slowness)
        while True:
            elements = self.elements()
            found = self._matching(elements, role, name, text, window)
            if state is not None:
                found = [element for element in found if state in element.states]
            if -len(found) <= nth < len(found):
                return found[nth]
            if deadline.over:
                break
            self._machine.guest.call("wait_change", timeout=min(0.25, deadline.left))
        wanted = {"role": role, "name": name, "text": text, "window": window, "state": state, "nth": nth or None}
        asked = ", ".join(f"{key}={value!r}" for key, value in wanted.items() if value is not None)
        near = sorted(elements, key=lambda element: -_likeness(element, role, name, text))[:_NEAR_MISSES]
        seen = "; ".join(f"{element.role} {element.name!r}" for element in near)
        if state is not None:
            having = [f"{element.role} {element.name!r}" for element in elements if state in element.states]
            seen += f"; {state} are {', '.join(having) or 'none'}"
        raise SetupError(
            f"no element with {asked} came within {timeout:g} s ({len(found)} of {len(elements)} fit); nearest: {seen}"
        )

    @staticmethod
    def _matching(
        elements: Elements, role: str | None, name: str | None, text: str | None, window: str | None
    ) -> list[Element]:
        rows, texts = elements.rows, elements.texts
        return [
            elements[k]
            for k, (its_role, its_name, its_text, _) in enumerate(texts)
            if (role is None or its_role == role)
            and (name is None or _fits(its_name, name))
            and (text is None or _fits(its_text, text))
            and (window is None or (rows[k, 7] >= 0 and _fits(texts[rows[k, 7]][1], window)))
        ]


def _fits(value: str, wanted: str) -> bool:
    return fnmatchcase(value, wanted) if "*" in wanted else value == wanted


def _likeness(element: Element, role: str | None, name: str | None, text: str | None) -> float:
    pairs = [(role, element.role), (name, element.name), (text, element.text)]
    return sum(SequenceMatcher(None, wanted, got).ratio() for wanted, got in pairs if wanted is not None)
