"""The two programs that are driven, and the actions; both loops get the same ones, on the same windows.

KAlgebra comes through the science suite, Mousepad, a GTK 3 editor, through a task that is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gymnasium
import numpy as np

from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.episode import Screen
from deskgym.envs.evaluation.evaluator import Evaluator
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.core.task import Hook, Setup, Task

KINDS = ("click", "key", "type")
"""The kinds of action of a measured step; the ratios are over equally many of each."""

FILE = "/home/user/notes.txt"
LINES = "".join(f"{number:2}  All work and no play makes Jack a dull boy.\n" for number in range(1, 25))


class EditorTasks:
    """A task source with one task: a text file, open in Mousepad."""

    def ids(self, split: str | None = None) -> list[str]:
        """Its id."""
        return ["editor/notes"]

    def get(self, task_id: str, seed: int | None = None) -> Task:
        """The task."""
        return Task(
            "editor/notes",
            "Edit the notes.",
            Evaluator(()),
            lambda screen: iter(()),
            hooks=[Hook("open", _open_editor)],
        )

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> Task:
        """The task."""
        return self.get("editor/notes")


class BareTasks:
    """A task source with one task, whose desktop has no program on it."""

    def ids(self, split: str | None = None) -> list[str]:
        """Its id."""
        return ["bare/desktop"]

    def get(self, task_id: str, seed: int | None = None) -> Task:
        """The task."""
        return Task("bare/desktop", "Do nothing.", Evaluator(()), lambda screen: iter(()))

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> Task:
        """The task."""
        return self.get("bare/desktop")


def _open_editor(setup: Setup) -> None:
    setup.machine.put(FILE, LINES.encode())
    launch_editor(setup.machine)
    setup.screen.find(role="text", text="*Jack*", timeout=10.0)


def launch_editor(machine: Machine) -> None:
    """Start it, and wait until its window is there."""
    machine.guest.call("launch", 40.0, argv=["mousepad", FILE], wait={"window": {"class": "(?i)mousepad"}})


def launch_kalgebra(machine: Machine) -> None:
    """Start it as its tasks do, and wait until its window is there."""
    from deskgym.task_suites.programs.kalgebra.program import ENVIRONMENT

    machine.guest.call("launch", 40.0, argv=["kalgebra"], env=ENVIRONMENT, wait={"window": {"class": "(?i)kalgebra"}})


def make_kalgebra(screen_size: tuple[int, int]) -> DesktopEnv:
    """The env of a KAlgebra task, as users make it."""
    import deskgym  # noqa: F401 - registers the id

    env = gymnasium.make(
        "deskgym/Science-v0",
        task="kalgebra/plot-2d",
        screen_size=screen_size,
        observation=("screenshot",),
        max_steps=1_000_000,
        disable_env_checker=True,
    ).unwrapped
    assert isinstance(env, DesktopEnv)
    return env


def make_editor(screen_size: tuple[int, int]) -> DesktopEnv:
    """The same over ``EditorTasks``."""
    return DesktopEnv(EditorTasks(), screen_size=screen_size, observation=("screenshot",), max_steps=1_000_000)


@dataclass(frozen=True)
class Desk:
    """A program on a desktop, and where to act in it.

    Attributes:
        spots: where clicks go, in turn: into text, so that each moves the caret.
        text: what a typing step types.
        prepare: actions that bring the program into the same state before each block of steps.
        menu: where a click opens a menu, which Escape closes.
    """

    spots: Sequence[tuple[int, int]]
    text: str
    prepare: Sequence[Action]
    menu: tuple[int, int]

    def action(self, kind: str, number: int) -> Action:
        """The ``number``-th action of a kind."""
        if kind == "click":
            return Action("click", *self.spots[number % len(self.spots)])
        return Action("press", keys=("7",)) if kind == "key" else Action("type", text=self.text)

    def actions(self, count: int) -> list[tuple[str, Action]]:
        """``count`` actions with their kinds, click, key and type in turn."""
        return [(KINDS[k % 3], self.action(KINDS[k % 3], k // 3)) for k in range(count)]


def kalgebra_desk(screen: Screen) -> Desk:
    """KAlgebra's calculator: clicks into its input, digits and a short expression typed there."""
    tab = screen.find(role="page tab", name="Calculator").center
    entry = screen.find(role="text")
    spots = [(entry.x + 20 + 8 * k, entry.center[1]) for k in range(12)]
    prepare = [
        Action("click", *tab),
        Action("click", *entry.center),
        Action("press", keys=("ctrl", "a")),
        Action("type", text="12+34+56+78+90"),
    ]
    return Desk(spots, "12*(3+4)", prepare, screen.find(role="menu item", name="Session").center)


def editor_desk(screen: Screen) -> Desk:
    """Mousepad with a short text: clicks between its words, a digit and two words typed there."""
    text = screen.find(role="text", text="*Jack*")
    spots = [(text.x + 60 + 12 * k, text.y + 10 + 16 * k) for k in range(12)]
    return Desk(spots, "hello you", [Action("click", *spots[0])], screen.find(role="menu", name="File").center)


@dataclass(frozen=True)
class Program:
    """How to get a program onto a desktop.

    Attributes:
        title: for tables.
        make: the env.
        find: where to act, once it is open.
        launch: starts it on a bare desktop, without any reading of its accessible elements.
    """

    title: str
    make: Callable[[tuple[int, int]], DesktopEnv]
    find: Callable[[Screen], Desk]
    launch: Callable[[Machine], None]


PROGRAMS = {
    "kalgebra": Program("KAlgebra", make_kalgebra, kalgebra_desk, launch_kalgebra),
    "mousepad": Program("Mousepad", make_editor, editor_desk, launch_editor),
}
