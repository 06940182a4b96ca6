"""A running program by its accessible tree, hidden parts included: for setup hooks and evaluators, not for agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import GuestCallError, GuestLost, SetupError

if TYPE_CHECKING:
    from deskgym.envs.machines.base import Machine

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Node:
    """One accessible element, shown or hidden.

    Attributes:
        ref: names it to the guest, for ``AccessibleProgram.press`` and its like.
        role: AT-SPI's role name.
        name: its accessible name.
        text: its text content.
        value: its number as text, where it has one.
        description: its accessible description.
        states: all of AT-SPI's states that are set.
        extents: x, y, width, height in screen pixels.
        children: in order.
    """

    ref: str
    role: str
    name: str
    text: str
    value: str
    description: str
    states: frozenset[str]
    extents: tuple[int, int, int, int]
    children: list[Node] = field(default_factory=list, repr=False)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def find_all(
        self, role: str | None = None, name: str | None = None, text: str | None = None, state: str | None = None
    ) -> list[Node]:
        """The nodes of this subtree that fit, in document order."""
        return [
            node
            for node in self.walk()
            if (role is None or node.role == role)
            and (name is None or node.name == name)
            and (text is None or node.text == text)
            and (state is None or state in node.states)
        ]

    def find(self, role: str | None = None, name: str | None = None, nth: int = 0) -> Node:
        """The ``nth`` that fits.

        Raises:
            LookupError: there is none; the message says what there is of that role.
        """
        found = self.find_all(role, name)
        if not -len(found) <= nth < len(found):
            names = sorted({node.name for node in self.find_all(role)})[:20]
            raise LookupError(
                f"no {role or 'element'} {name!r} (number {nth}) in {self.role} {self.name!r}; has {names}"
            )
        return found[nth]

    def parent_of(self, node: Node) -> Node:
        """The node of this subtree that has ``node`` as a child. Raises LookupError."""
        for candidate in self.walk():
            if any(child is node for child in candidate.children):
                return candidate
        raise LookupError(f"{node.role} {node.name!r} is not below {self.role} {self.name!r}")


class AccessibleProgram:
    """A program that a hook has launched: that process and no other, whatever others call themselves.

    Args:
        machine: where it runs.
        app: its file's name, such as ``"kalgebra"``.
    """

    def __init__(self, machine: Machine, app: str) -> None:
        self.machine = machine
        self.app = app

    def tree(self, deadline: float = 5.0, outline: bool = False, closed: Sequence[str] = ()) -> Node | None:
        """Its root with all below it, or None if it has ended.

        Args:
            deadline: seconds.
            outline: read only roles, names, states and children, in half of the time.
            closed: roles of elements that are not descended into, such as ``["list"]``.

        Raises:
            SetupError: it runs, and did not answer in time.
            GuestCallError: kind ``"ForeignPeer"``: its process has become another program since, is traced, or may have
                loaded code of the agent's.
            GuestLost: the guest's answer makes no sense.
        """
        end = Deadline(deadline, self.machine.slowness)
        more = {"outline": outline, "closed": list(closed)}
        while True:
            left = max(end.left, 0.1)
            answer = self.machine.guest.call("tree", left + 10.0, launched=self.app, deadline=left, **more)
            if not answer.get("running"):
                return None
            root = _tree(answer)
            if root is not None and answer.get("complete"):
                return root
            if end.over:
                raise SetupError(f"{self.app} runs, but does not answer: {answer.get('cut')}")
            self._pause()

    def _pause(self) -> None:
        """Let the program go on: until something on its screen changes, or a little while."""
        self.machine.guest.call("wait_change", timeout=0.05)

    def end_others(self) -> None:
        """End what the agent has started: nothing of it may paint over this program, type into it or answer for it.

        All programs that the setup launched stay: another check may read them.
        """
        self.machine.guest.call("end_others")

    def look(self, node: Node, deadline: float = 2.0) -> Node:
        """An element with all below it, as it is now: much cheaper than the whole tree.

        Raises:
            LookupError: it is no more.
            GuestLost: the guest's answer makes no sense.
        """
        try:
            answer = self.machine.guest.call("tree", deadline + 10.0, ref=node.ref, deadline=deadline)
        except GuestCallError as error:
            raise LookupError(str(error)) from error
        root = _tree(answer)
        if root is None:
            raise LookupError(f"{node.role} {node.name!r} is no more")
        return root

    def wait(
        self,
        what: str,
        condition: Callable[[Node], T | None],
        at: Node | None = None,
        timeout: float = 10.0,
        outline: bool = False,
        closed: Sequence[str] = (),
    ) -> T:
        """Read until ``condition`` gives something true; a LookupError in it counts as "not yet".

        Args:
            what: what is waited for, for the error.
            condition: gets the element ``at`` as it is now, or the root of the whole tree.
            at: what to read.
            timeout: seconds.
            outline: how the whole tree is read; see ``tree``.
            closed: what of the whole tree is not descended into; see ``tree``.

        Raises:
            SetupError: it did not come true in time; the message says what was waited for and why it was not.
        """
        deadline = Deadline(timeout, self.machine.slowness)
        while True:
            problem = "it is not so"
            try:
                root = self.tree(outline=outline, closed=closed) if at is None else self.look(at)
                if root is None:
                    problem = f"{self.app} is not running"
                elif result := condition(root):
                    return result
            except LookupError as error:
                problem = str(error)
            if deadline.over:
                raise SetupError(f"{self.app}: {what} did not come within {timeout:g} s: {problem}")
            self._pause()

    def press(self, node: Node, action: str = "Press") -> None:
        """Do one of its accessible actions."""
        self._do(node, "action", action)

    def set_text(self, node: Node, text: str) -> None:
        """Replace its whole text."""
        self._do(node, "set_text", text)

    def focus(self, node: Node) -> None:
        """Give it the keyboard focus."""
        self._do(node, "grab_focus", None)

    def document(self, node: Node) -> dict[str, str]:
        """The attributes of a document, such as a web page's ``URI``.

        Raises:
            LookupError: it has none, or is no more.
        """
        try:
            answer = self.machine.guest.call("document", ref=node.ref, deadline=2.0)
        except GuestCallError as error:
            raise LookupError(str(error)) from error
        return {str(name): str(value) for name, value in dict(answer.get("attributes") or {}).items()}

    def _do(self, node: Node, what: str, value: Any) -> None:
        self.machine.guest.call("act", ref=node.ref, do=what, value=value, deadline=2.0)


def _tree(answer: Mapping[str, Any]) -> Node | None:
    """The first root in a guest's answer, with what is below it."""
    try:
        made: list[Node] = []
        for data in answer["nodes"]:
            made.append(_node(data))
            parent = int(data["parent"])
            if parent >= len(made) - 1:
                raise ValueError(f"element {len(made) - 1} lies in element {parent}")
            if parent >= 0:
                made[parent].children.append(made[-1])
        return made[0] if made else None
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise GuestLost(f"the guest sent a tree that makes no sense: {error!r}", "guest_garbled") from error


def _node(data: Mapping[str, Any]) -> Node:
    x, y, width, height = (int(number) for number in data["extents"])
    return Node(
        ref=str(data["ref"]),
        role=str(data["role"]),
        name=str(data["name"]),
        text=str(data["text"]),
        value=str(data["value"]),
        description=str(data["description"]),
        states=frozenset(str(state) for state in data["states"]),
        extents=(x, y, width, height),
    )
