"""LabPlot's window, with files of data beside it or a project in it."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from string import Template

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.errors import SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram, Node
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch

APP = "labplot2"

PROJECT = Path(__file__).with_name("project.xml")
"""A project as LabPlot 2.9.0 saved it, with its columns and its curve's left open."""

_PAINTED = 16
"""What a selected row's colour differs in from another's, of 255: every second row is a little darker."""

_COLUMN = Template(
    '<column creation_time="2026-01-01 12:00:00:000" name="$name" rows="$rows" designation="$designation" mode="0"'
    ' width="100"><input_filter><simple_filter creation_time="2026-01-01 12:00:00:000" name="SimpleFilter"'
    ' filter_name="String2DoubleFilter"/></input_filter><output_filter><simple_filter'
    ' creation_time="2026-01-01 12:00:00:000" name="SimpleFilter" format="g" digits="6"'
    ' filter_name="Double2StringFilter"/></output_filter>$data</column>'
)


def open_(
    setup: Setup,
    files: dict[str, str] | None = None,
    project: str | None = None,
    columns: dict[str, list[float]] | None = None,
) -> None:
    """Open LabPlot, with a project or none; returns when its window is there.

    Args:
        setup: the machine.
        files: texts of files that are put there before, by their paths.
        project: the path of a project that is made and opened: a spreadsheet, and a plot of its second column against
            its first.
        columns: the numbers of the spreadsheet's columns, two or more, by their names.

    Raises:
        SetupError: it did not come up.
    """
    texts = dict(files or {})
    if project is not None:
        texts[project] = make(columns or {})
    for path, text in texts.items():
        setup.machine.put(legal_path(path), text.encode())
    launch(
        setup, [APP, "--no-splash", *filter(None, [project])], window="*LabPlot*", app=APP,
        role="table cell" if project else "menu bar", name="Plot" if project else None, maximize=True, timeout=60.0,
    )  # fmt: skip
    if project is not None:
        _unfolded(setup.machine)


def _unfolded(machine: Machine) -> None:
    """Wait until the plot's row in the tree looks selected.

    It says so a quarter of a second before, while the tree unfolds: what is clicked then loses the selection again.
    """
    program = AccessibleProgram(machine, APP)
    root = program.tree()
    if root is None:
        raise SetupError("LabPlot ended while it opened the project")
    other = root.find("table cell", "Worksheet")

    def looks_selected(plot: Node) -> bool:
        screen = machine.display.capture()
        x, y, _, height = plot.extents
        if x + 1 >= screen.shape[1] or y + height >= screen.shape[0]:
            return True  # what is not on the screen cannot be clicked either
        return bool(np.abs(_background(screen, plot) - _background(screen, other)).max() > _PAINTED)

    program.wait("the selection of its plot", looks_selected, root.find("table cell", "Plot"))


def _background(screen: NDArray[np.uint8], cell: Node) -> NDArray[np.int16]:
    """The colour of a cell before its text."""
    x, y, _, height = cell.extents
    return np.asarray(screen[y + height // 2, x + 1], np.int16)


def make(columns: dict[str, list[float]]) -> str:
    """The text of a project that shows these columns, and plots the second one against the first."""
    x, y, *_ = columns
    texts = [
        _COLUMN.substitute(
            name=name, rows=len(values), designation=2 if number else 1,
            data=base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode(),
        )
        for number, (name, values) in enumerate(columns.items())
    ]  # fmt: skip
    return Template(PROJECT.read_text()).substitute(columns="\n   ".join(texts), x=x, y=y)
