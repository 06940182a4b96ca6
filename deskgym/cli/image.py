"""Image: build, list, check and remove the disk images that virtual machines start from."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deskgym.cli.output import note, print_json, print_table, progress, pulse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deskgym.envs.machines.image import Image, Step

MIB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The four actions and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="build the image of a recipe, or go on where a build stopped")
    build.add_argument("recipe", metavar="RECIPE", help="a stock recipe's name, such as science, or a YAML file")
    build.add_argument("--force", action="store_true", help="build it again although it is built")
    build.add_argument("--json", action="store_true", help="print JSON")
    listing = actions.add_parser("list", help="list the images that are built")
    listing.add_argument("--json", action="store_true", help="print JSON")
    check = actions.add_parser("check", help="compare images with their checksums; status 1 if one is damaged")
    check.add_argument("name", metavar="NAME", nargs="?", help="an image (default: all)")
    check.add_argument("--json", action="store_true", help="print JSON")
    remove = actions.add_parser("remove", help="delete images")
    remove.add_argument("name", metavar="NAME", nargs="?", help="an image, or a recipe's name for all of its images")
    remove.add_argument("--all-old", action="store_true", help="images of stock recipes as they are no more")


def run(arguments: argparse.Namespace) -> int:
    """Do the action."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "build": _build,
        "list": _list,
        "check": _check,
        "remove": _remove,
    }
    return actions[arguments.action](arguments)


def _build(arguments: argparse.Namespace) -> int:
    from deskgym.envs.machines.image import build_image, load_recipe

    recipe = load_recipe(arguments.recipe)
    start = time.monotonic()
    with _reporting(arguments.json) as (report, stages):
        image = build_image(recipe, arguments.force, report)
    seconds = time.monotonic() - start
    if arguments.json:
        print_json(_as_data(image) | {"new": bool(stages)})
    elif stages:
        sizes = ", ".join(f"{name} {entry['bytes'] / MIB:.0f} MiB" for name, entry in image.manifest["files"].items())
        resumed = f" (the rest of it: {', '.join(stages)})" if stages[0] != "rootfs" else ""
        print(f"built {image.full_name} in {seconds:.0f} s{resumed}: {sizes}; it is in {image.folder}")
    else:
        print(f"{image.full_name} is built already; it is in {image.folder}")
    return 0


@contextmanager
def _reporting(quiet: bool) -> Iterator[tuple[Callable[[Step], None], list[str]]]:
    """A progress bar for a build's steps, and the stages that it went through."""
    stages: list[str] = []
    doing = "starting"
    with progress(quiet) as bar, pulse(lambda: doing):
        task = bar.add_task("starting", total=None)

        def report(step: Step) -> None:
            nonlocal doing
            doing = f"{step.stage}: {step.detail}" + (f", {step.done} of {step.total}" if step.total else "")
            if step.stage == "waiting":
                note(f"waiting: {step.detail}")
            elif step.stage not in stages:
                stages.append(step.stage)
            bar.tasks[task].total = step.total or None  # update(total=None) would keep that of the stage before
            bar.update(task, description=f"{step.stage}: {step.detail}"[:60].ljust(60), completed=step.done)

        yield report, stages


def _list(arguments: argparse.Namespace) -> int:
    from deskgym.envs.machines.image import images_folder, list_images

    images = list_images()
    if arguments.json:
        print_json([_as_data(image) for image in images])
        return 0
    if not images:
        print("no image is built; `deskgym image build science` builds one")
        return 0
    rows = [
        (image.full_name, image.name, _when(image), f"{image.bytes / MIB:.0f} MiB", _state(image)) for image in images
    ]
    print_table(f"images in {images_folder()}", ("name", "recipe", "built", "size", "recipe is"), rows)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from deskgym.envs.errors import MachineError
    from deskgym.envs.machines.image import Image, find_image, image_folders

    folders = [find_image(arguments.name).folder] if arguments.name else image_folders()
    results = []
    for folder in folders:
        try:
            Image.open(folder).verify(deep=True)
            results.append({"name": folder.name, "ok": True, "problem": ""})
        except MachineError as error:
            if error.kind not in ("bad_image", "no_image"):
                raise
            results.append({"name": folder.name, "ok": False, "problem": str(error)})
    if arguments.json:
        print_json(results)
    else:
        for result in results:
            print(f"{result['name']}: {'ok' if result['ok'] else result['problem']}")
        if not results:
            print("no image is built")
    return 0 if all(result["ok"] for result in results) else 1


def _remove(arguments: argparse.Namespace) -> int:
    from deskgym.envs.machines.image import list_images, remove_image

    if bool(arguments.name) == arguments.all_old:
        print("deskgym image remove: give either NAME or --all-old (see deskgym image remove --help)", file=sys.stderr)
        return 2
    names = [arguments.name]
    if arguments.all_old:
        names = [image.full_name for image in list_images() if _state(image) == "older"]
    for name in names:
        for folder in remove_image(name):
            print(f"removed {folder.name}")
    if not names:
        print("no image is of an older stock recipe")
    return 0


def _state(image: Image) -> str:
    """``present`` or ``older`` for the images of stock recipes, else ``your own``."""
    from deskgym.envs.machines.image import load_recipe, stock_recipes

    if image.name not in stock_recipes():
        return "your own"
    return "present" if load_recipe(image.name).hash == image.hash else "older"


def _when(image: Image) -> str:
    return str(image.manifest.get("built", "?")).replace("T", " ").partition("+")[0]


def _as_data(image: Image) -> dict[str, Any]:
    manifest = image.manifest
    return {
        "name": image.full_name,
        "recipe": image.name,
        "folder": str(image.folder),
        "built": manifest.get("built"),
        "built_by": manifest.get("built_by"),
        "bytes": image.bytes,
        "python": image.python,
        "resolution": image.resolution,
        "recipe_is": _state(image),
        "seconds": manifest.get("seconds"),
        "files": manifest["files"],
        "packages": len(manifest.get("packages", {})),
    }
