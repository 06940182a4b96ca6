"""Runs the conventional step loop inside a machine, on the display and the programs that ours has just driven."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from deskgym.envs.action.actions import Action, to_pyautogui
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.guest_runtime import INSIDE

PORT = 8080
PYTHON = "/usr/bin/python3"
"""The distribution's Python: it has pyatspi, and an interpreter for the actions that starts no slower than another."""

PYTHONPATH = {"PYTHONPATH": INSIDE}  # pyautogui and Pillow, byte-compiled
HERE = Path(__file__).resolve().parent
CLIENT, SERVER = "/tmp/conventional_client.py", "/tmp/conventional_server.py"
FIXED_SLEEP = 0.5  # seconds; Spider2-V's and ScienceBoard's runners; OSWorld's own default is 2
NO_PAUSE = "pyautogui.PAUSE = 0"


@dataclass(frozen=True)
class Variant:
    """One way to run the loop.

    Attributes:
        sleeps: with the runners' 0.5 s after each action and pyautogui's own pause of 0.1 s after each call.
        tree: with the accessibility tree: all that the published systems read of an element (``"full"``), only what
            ours gives (``"lean"``), or None.
    """

    sleeps: bool
    tree: Literal["full", "lean"] | None

    @property
    def name(self) -> str:
        """Such as ``"screenshot + a11y, 0.5 s sleep"``."""
        tree = {"full": " + a11y", "lean": " + lean a11y", None: ""}[self.tree]
        return f"screenshot{tree}, {'0.5 s sleep' if self.sleeps else 'no sleep'}"


VARIANTS = (
    Variant(sleeps=True, tree="full"),
    Variant(sleeps=True, tree=None),
    Variant(sleeps=False, tree="full"),
    Variant(sleeps=False, tree=None),
)
LEAN = Variant(sleeps=False, tree="lean")


class ConventionalLoop:
    """The server in a machine, and clients that run steps against it.

    Args:
        machine: started, with a display; its own network namespace keeps the port apart from others.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __enter__(self) -> Self:
        check = self.machine.run([PYTHON, "-c", "import pyatspi, pyautogui; import PIL._imaging"], env=PYTHONPATH)
        if check.returncode:
            raise RuntimeError(
                f"the conventional loop needs {PYTHON} with pyatspi (apt install python3-pyatspi) and of the same "
                f"version as this Python: {check.stderr.decode(errors='replace').strip().splitlines()[-1]}"
            )
        for path in (CLIENT, SERVER):
            self.machine.put(path, HERE / Path(path).name)
        self._pid = self.machine.guest.call("launch", argv=[PYTHON, SERVER, str(PORT)], env=PYTHONPATH)["pid"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.machine.alive:
            self.machine.run(["kill", str(self._pid)])

    def run(self, actions: Sequence[Action], variant: Variant) -> list[dict[str, float]]:
        """The phases of each step in ms: ``action, sleep, screenshot, decode, tree, total``."""
        job = {
            "port": PORT,
            "python": PYTHON,
            "actions": [to_pyautogui(action) for action in actions],
            "pause": "pass" if variant.sleeps else NO_PAUSE,
            "sleep": FIXED_SLEEP if variant.sleeps else 0.0,
            "tree": variant.tree,
        }
        done = self.machine.run(
            [PYTHON, CLIENT], env=PYTHONPATH, stdin=json.dumps(job).encode(), timeout=30.0 + 30.0 * len(actions)
        )
        if done.returncode:
            raise RuntimeError(f"the conventional loop failed: {done.stderr.decode(errors='replace')[-2000:]}")
        steps: list[dict[str, float]] = json.loads(done.stdout)
        return steps
