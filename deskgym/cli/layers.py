"""Layers: build, list and remove prepared layers and tool environments."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from deskgym.cli.output import note, print_json, print_table, progress

if TYPE_CHECKING:
    from deskgym.envs.needs import Needs
    from deskgym.envs.provision.layer_store import Layer
    from deskgym.envs.provision.layers import LayerRecipe
    from deskgym.envs.provision.tool_environments import ToolEnvironment

    Recipe = LayerRecipe | ToolEnvironment

MIB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The three actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the layers that are built, and those that programs need")
    build = actions.add_parser("build", help="build a layer, or all of a program's, unless they are there")
    build.add_argument("name", metavar="NAME", help="a layer, a tool environment or a program")
    remove = actions.add_parser("remove", help="delete layers")
    remove.add_argument("name", metavar="NAME", nargs="?", help="a layer (NAME-DIGEST), or all of a name")
    remove.add_argument("--unused", action="store_true", help="those of programs' recipes as they are no more")
    for action in (listing, build, remove):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do the action."""
    return {"build": _build, "list": _list, "remove": _remove}[arguments.action](arguments)


def recipes_of(needs: Needs) -> list[Recipe]:
    """The layers of a program and of its services, each after what it stands on."""
    found: dict[Recipe, None] = {}

    def add(items: Iterable[Recipe]) -> None:
        for item in items:
            add(getattr(item, "bases", ()))
            found.setdefault(item)

    for part in (needs, *needs.services):
        add(getattr(part, "layers", ()))
    return list(found)


def missing_layers(programs: Iterable[str]) -> list[Recipe]:
    """What these programs need and is not built yet."""
    from deskgym.task_suites.programs import load_program

    recipes = dict.fromkeys(recipe for name in programs for recipe in recipes_of(load_program(name).all_needs))
    return [recipe for recipe in recipes if _state(recipe) != "present"]


def build_layers(recipes: Sequence[Recipe], quiet: bool = False) -> list[Layer]:
    """Build these in order, with a progress bar."""
    from deskgym.envs.provision.layers import prepare_layer

    built = []
    with progress(quiet) as bar:
        task = bar.add_task("starting", total=None)

        def report(text: str, done: int, total: int) -> None:
            bar.update(task, description=text[:60].ljust(60), total=total or None, completed=done)

        for recipe in recipes:
            built.append(prepare_layer(recipe, report))
    return built


def _list(arguments: argparse.Namespace) -> int:
    from deskgym.envs.provision.layer_store import layers_folder, list_layers

    known, rows = _known(), []
    present = {(recipe.name, _digest(recipe)) for recipe, _ in known}
    for layer in list_layers():
        programs = [program for recipe, program in known if recipe.name == layer.name]
        state = "present" if (layer.name, layer.digest) in present else "older" if programs else "your own"
        rows.append(_as_data(layer) | {"programs": sorted(set(programs)), "state": state})
    built = {(row["recipe"], row["digest"]) for row in rows}
    for recipe, program in known:
        if (recipe.name, _digest(recipe)) not in built and (state := _state(recipe)) != "present":
            rows.append({"name": recipe.name, "recipe": recipe.name, "programs": [program], "state": state})
    if arguments.json:
        print_json(rows)
    elif rows:
        title = f"layers in {layers_folder()}"
        print_table(title, ("name", "programs", "state", "size", "last used"), [_as_row(row) for row in rows])
    else:
        print("no layer is built, and no program needs one")
    return 0


def _build(arguments: argparse.Namespace) -> int:
    from deskgym.envs.errors import near

    known = _known()
    chosen = [recipe for recipe, program in known if arguments.name in (recipe.name, program)]
    if not chosen:
        names = dict.fromkeys(name for recipe, program in known for name in (recipe.name, program))
        raise ValueError(
            f"no program has a layer {arguments.name!r}; there are {', '.join(names) or 'none'}"
            f"{near(arguments.name, names)}"
        )
    chosen = list(dict.fromkeys(chosen))
    there = {_digest(recipe) for recipe in chosen if _state(recipe) == "present"}
    layers = build_layers(chosen, arguments.json)
    if arguments.json:
        print_json([_as_data(layer) for layer in layers])
    for layer in () if arguments.json else layers:
        word = "is built already:" if layer.digest in there else "built"
        print(f"{word} {layer.path.name}, {layer.size / MIB:.1f} MiB, in {layer.path.parent}")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    from deskgym.envs.errors import MachineError
    from deskgym.envs.provision.layer_store import list_layers, remove_layer

    if bool(arguments.name) == arguments.unused:
        print("deskgym layers remove: give either NAME or --unused (see deskgym layers remove --help)", file=sys.stderr)
        return 2
    names = [arguments.name]
    if arguments.unused:
        present = {(recipe.name, _digest(recipe)) for recipe, _ in _known()}
        ours = {name for name, _ in present}
        names = [
            layer.path.name
            for layer in list_layers()
            if layer.name in ours and (layer.name, layer.digest) not in present
        ]
    removed = []
    for name in names:
        try:
            removed += remove_layer(name)
        except MachineError as error:
            if not arguments.unused or error.kind != "in_use":
                raise
            note(f"kept: {error}")
    if arguments.json:
        print_json([_as_data(layer) for layer in removed])
        return 0
    for layer in removed:
        print(f"removed {layer.path.name}, {layer.size / MIB:.1f} MiB")
    if not removed:
        print("no layer is of an older recipe")
    return 0


def _known() -> list[tuple[Recipe, str]]:
    """The layers of all programs, each with its program's name."""
    from deskgym.task_suites.programs import load_program, program_names

    return [(recipe, name) for name in program_names() for recipe in recipes_of(load_program(name).all_needs)]


def _digest(recipe: Recipe) -> str:
    """Its layer's digest; "" where a package of it is missing."""
    from deskgym.envs.errors import MachineError
    from deskgym.envs.provision.layers import layer_digest

    try:
        return layer_digest(recipe)
    except MachineError:
        return ""


def _state(recipe: Recipe) -> str:
    from deskgym.envs.provision.layer_store import layer_path

    digest = _digest(recipe)
    if not digest:
        return "not installed"
    return "present" if layer_path(recipe.name, digest).is_dir() else "missing"


def _as_data(layer: Layer) -> dict[str, Any]:
    return {
        "name": layer.path.name,
        "recipe": layer.name,
        "digest": layer.digest,
        "folder": str(layer.path),
        "bytes": layer.size,
        "used": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(layer.used)),
    }


def _as_row(row: dict[str, Any]) -> tuple[str, ...]:
    size = f"{row['bytes'] / MIB:.1f} MiB" if "bytes" in row else ""
    return row["name"], ", ".join(row["programs"]), row["state"], size, row.get("used", "")
