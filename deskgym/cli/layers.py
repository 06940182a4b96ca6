"""Layers: build, list and remove prepared layers and tool environments."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from deskgym.cli.output import note, print_json, print_table, progress, pulse

if TYPE_CHECKING:
    from deskgym.envs.needs import Needs
    from deskgym.envs.provision.layer_store import Layer

MIB = 1 << 20


class Entry(NamedTuple):
    """A layer that is built, or that a program needs.

    ``state`` is "present"; "missing"; "not installed", where the recipe needs a package that is missing; "older", of a
    recipe as it is no more; or "other", of a published benchmark or your own.
    """

    name: str
    programs: list[str]
    state: str
    recipe: Any = None
    layer: Layer | None = None

    def to_dict(self) -> dict[str, Any]:
        """What is printed."""
        data: dict[str, Any] = {"name": self.name, "recipe": self.name, "programs": self.programs, "state": self.state}
        if self.layer is not None:
            used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.layer.used))
            path = self.layer.path
            data |= {"name": path.name, "folder": str(path), "bytes": self.layer.size, "used": used}
        return data


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The three actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the layers that are built, and those that programs need")
    build = actions.add_parser("build", help="build a layer, or all of a program's, unless they are there")
    build.add_argument("name", metavar="NAME", help="a layer, a tool environment or a program")
    remove = actions.add_parser("remove", help="delete layers; give NAME or --unused")
    which = remove.add_mutually_exclusive_group(required=True)
    which.add_argument("name", metavar="NAME", nargs="?", help="a layer (NAME-DIGEST), or all of a name")
    which.add_argument("--unused", action="store_true", help="those of programs' recipes as they are no more")
    for action in (listing, build, remove):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do the action."""
    entries = {"build": _build, "list": _list, "remove": _remove}[arguments.action](arguments)
    if arguments.json:
        print_json([entry.to_dict() for entry in entries])
    return 0


def find_entries() -> list[Entry]:
    """All layers that programs need, each after what it stands on, and then all others that are built."""
    from deskgym.envs.errors import MachineError
    from deskgym.envs.provision.layer_store import layer_path, list_layers
    from deskgym.envs.provision.layers import layer_digest
    from deskgym.task_suites.programs import load_program, program_names

    programs: dict[Any, list[str]] = {}
    for program in program_names():
        for recipe in _recipes(load_program(program).all_needs):
            programs.setdefault(recipe, []).append(program)
    built = {layer.path: layer for layer in list_layers()}
    found = []
    for recipe, names in programs.items():
        try:
            layer = built.pop(layer_path(recipe.name, layer_digest(recipe)), None)
            found.append(Entry(recipe.name, names, "present" if layer else "missing", recipe, layer))
        except MachineError:
            found.append(Entry(recipe.name, names, "not installed", recipe))
    known = {recipe.name for recipe in programs}
    return found + [
        Entry(layer.name, [], "older" if layer.name in known else "other", layer=layer) for layer in built.values()
    ]


def build_layers(entries: Sequence[Entry], quiet: bool = False) -> list[Entry]:
    """Build these in order, with a progress bar; without a terminal a line now and then, and one when each is there."""
    from deskgym.envs.provision.layers import prepare_layer

    built: list[Entry] = []
    now = "starting"

    def report(text: str, done: int, total: int) -> None:
        nonlocal now
        now = f"{len(built) + 1} of {len(entries)}: {text}"
        bar.update(task, description=now[:60].ljust(60), total=total or None, completed=done)

    with progress(quiet) as bar, nullcontext() if quiet else pulse(lambda: now):
        task = bar.add_task(now, total=None)
        for entry in entries:
            began = time.monotonic()
            layer = prepare_layer(entry.recipe, report)
            built.append(entry._replace(layer=layer))
            if not quiet and entry.layer is None:
                took, size = time.monotonic() - began, layer.size / MIB
                note(f"{len(built)} of {len(entries)}: {layer.path.name}, {size:.0f} MiB in {took:.0f} s")
    return built


def _recipes(needs: Needs) -> list[Any]:
    found: dict[Any, None] = {}

    def add(items: Iterable[Any]) -> None:
        for item in items:
            add(getattr(item, "bases", ()))
            found.setdefault(item)

    for part in (needs, *needs.services):
        add(part.layers)
    return list(found)


def _list(arguments: argparse.Namespace) -> list[Entry]:
    from deskgym.envs.provision.layer_store import layers_folder

    entries = find_entries()
    if not arguments.json:
        rows = [entry.to_dict() | {"programs": ", ".join(entry.programs)} for entry in entries]
        for row in rows:
            row["size"] = f"{row['bytes'] / MIB:.1f} MiB" if "bytes" in row else ""
        columns = ("name", "programs", "state", "size", "used")
        cells = [[row.get(name, "") for name in columns] for row in rows]
        print_table(f"layers in {layers_folder()}", columns, cells)
    return entries


def _build(arguments: argparse.Namespace) -> list[Entry]:
    from deskgym.envs.errors import near

    entries = [entry for entry in find_entries() if entry.recipe is not None]
    chosen = [entry for entry in entries if arguments.name in (entry.name, *entry.programs)]
    if not chosen:
        names = dict.fromkeys(name for entry in entries for name in (entry.name, *entry.programs))
        there = ", ".join(names) or "none"
        raise ValueError(f"no program has a layer {arguments.name!r}; there are {there}{near(arguments.name, names)}")
    done = build_layers(chosen, arguments.json)
    for entry, before in () if arguments.json else zip(done, chosen, strict=True):
        word = "is built already" if before.layer else "is built"
        print(f"{entry.to_dict()['name']} {word}")
    return done


def _remove(arguments: argparse.Namespace) -> list[Entry]:
    from deskgym.envs.errors import MachineError
    from deskgym.envs.provision.layer_store import remove_layer

    names = [arguments.name]
    if arguments.unused:
        names = [entry.layer.path.name for entry in find_entries() if entry.layer and entry.state == "older"]
    removed = []
    for name in names:
        try:
            removed += [Entry(layer.name, [], "removed", layer=layer) for layer in remove_layer(name)]
        except MachineError as error:
            if not arguments.unused or error.kind != "in_use":
                raise
            note(f"kept: {error}")
    for entry in () if arguments.json else removed:
        print(f"removed {entry.to_dict()['name']}")
    return removed
