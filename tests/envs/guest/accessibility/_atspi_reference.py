"""What pyatspi says is visible: the reference that the fast reader is tested against.

Run by the system's Python (Debian's python3-pyatspi), as ``/usr/bin/python3 _atspi_reference.py PROGRAM``; prints
JSON: {"elements": [...], "nodes": n, "seconds": s}. A plain recursive walk over everything, in a new process each time
so that libatspi's cache starts empty (switching it off with ``set_cache_mask`` hangs in libatspi 2.46).
"""

import json
import sys
import time

import pyatspi
from gi.repository import GLib

MANY = 1000


def text_of(node):
    try:
        return node.queryText().getText(0, -1)
    except (NotImplementedError, GLib.Error):
        return ""


def extents_of(node):
    try:
        box = node.queryComponent().getExtents(pyatspi.DESKTOP_COORDS)
    except (NotImplementedError, GLib.Error):
        return [0, 0, 0, 0]
    return [box.x, box.y, box.width, box.height]


def cells_of(node):
    """The cells of a large table that are showing, row by row: no list of children can be had."""
    table = node.queryTable()
    row = 0
    while True:
        column, shown = 0, False
        while True:
            cell = table.getAccessibleAt(row, column)
            if cell is None or not cell.getState().contains(pyatspi.STATE_SHOWING):
                break
            shown = True
            yield cell
            column += 1
        if not shown:
            return
        row += 1


def walk(node, hidden, screen, found, counts):
    counts[0] += 1
    states = node.getState()
    showing = states.contains(pyatspi.STATE_SHOWING)
    extents = extents_of(node)
    x, y, width, height = extents
    on_screen = width > 0 and height > 0 and x < screen[0] and y < screen[1] and x + width > 0 and y + height > 0
    if showing and states.contains(pyatspi.STATE_VISIBLE) and on_screen:
        found.append(
            {
                "role": node.getRoleName(),
                "number": int(node.getRole()),
                "name": node.name,
                "description": node.description,
                "text": text_of(node),
                "extents": extents,
                "hidden": hidden,
            }
        )
    if node.childCount > MANY and states.contains(pyatspi.STATE_MANAGES_DESCENDANTS):
        children = cells_of(node)
    else:
        children = (node.getChildAtIndex(index) for index in range(node.childCount))
    is_program = node.getRole() == pyatspi.ROLE_APPLICATION
    below = (
        hidden if showing or is_program else [*hidden, f"{node.getRoleName()} {sorted(map(str, states.getStates()))}"]
    )
    for child in children:
        if child is not None:
            walk(child, below, screen, found, counts)


def main():
    desktop = pyatspi.Registry.getDesktop(0)
    width, height = 1920, 1080
    for program in desktop:
        if program is not None and program.name.lower() == sys.argv[1].lower():
            found, counts = [], [0]
            began = time.perf_counter()
            for window in [program.getChildAtIndex(index) for index in range(program.childCount)]:
                walk(window, [], (width, height), found, counts)
            print(json.dumps({"elements": found, "nodes": counts[0], "seconds": time.perf_counter() - began}))
            return 0
    print(f"no program {sys.argv[1]!r}; there are {[program.name for program in desktop if program]}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
