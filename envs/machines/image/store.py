"""Where finished images are kept, and how one is found by name."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

from deskgym.envs.errors import MachineError, near
from deskgym.envs.machines.image.image import MANIFEST, Image
from deskgym.envs.machines.image.recipe import is_stock, load_recipe, stock_recipes
from deskgym.envs.machines.sandbox.host import cache_folder


def images_folder() -> Path:
    """Where images live: ``images`` in deskgym's cache folder; made if need be."""
    folder = cache_folder() / "images"
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


def list_images() -> list[Image]:
    """All finished images, by name and then newest first; those whose manifest cannot be read are left out."""
    images = []
    for folder in image_folders():
        try:
            images.append(Image.open(folder))
        except MachineError:
            continue
    images.sort(key=lambda image: str(image.manifest.get("built", "")), reverse=True)
    return sorted(images, key=lambda image: image.name)


def image_folders() -> list[Path]:
    """The folders of all images, damaged ones too, by name."""
    return [folder for folder in sorted(images_folder().iterdir()) if folder.is_dir() and folder.name[0] != "."]


def find_image(name_or_path: str | Path) -> Image:
    """The image of this name.

    Args:
        name_or_path: a recipe's name (``"science"``: the image of the stock recipe as it is now, else the newest image
            of that name), a full name (``"science-0123456789ab"``), or the path of an image's folder.

    Raises:
        MachineError: kind ``"no_image"``: there is none; the message has the command that builds it. Kind
            ``"bad_image"``: it is there, but its manifest cannot be read.
    """
    name = str(name_or_path)
    if "/" in name or isinstance(name_or_path, Path):
        return Image.open(Path(name).expanduser().resolve())
    if not name.startswith(".") and (images_folder() / name / MANIFEST).is_file():
        return Image.open(images_folder() / name)
    if is_stock(name):
        present = images_folder() / load_recipe(name).full_name
        if present.is_dir():
            return Image.open(present)
    found = [image for image in list_images() if image.name == name]
    if not found:
        raise _no_image(name)
    if is_stock(name):
        warnings.warn(
            f"image {found[0].full_name} is of an older recipe; `deskgym image build {name}` builds the present one",
            stacklevel=2,
        )
    return found[0]


def remove_image(name: str) -> list[Path]:
    """Delete an image, or all images of a recipe's name; returns the folders that are gone.

    A machine that runs keeps what it has open; a stopped machine's overlays and snapshots are of no use any more.

    Raises:
        MachineError: kind ``"no_image"``: there is none of this name.
    """
    folders = [folder for folder in image_folders() if name in (folder.name, folder.name.rpartition("-")[0])]
    if not folders:
        raise _no_image(name)
    for folder in folders:
        discard(folder)
    return folders


def discard(folder: Path) -> None:
    """Take an image's folder away, in a way that nobody sees it half deleted."""
    leaving = folder.with_name(f".removing-{folder.name}")
    shutil.rmtree(leaving, ignore_errors=True)
    folder.rename(leaving)
    shutil.rmtree(leaving, ignore_errors=True)


def _no_image(name: str) -> MachineError:
    built = [folder.name for folder in image_folders()]
    stock = stock_recipes()
    known = dict.fromkeys([*stock, *built, *(full.rpartition("-")[0] for full in built)])
    recipe = name if name in stock else "RECIPE"
    there = f"built are {', '.join(built)}" if built else "none is built yet"
    return MachineError(
        f"no image {name!r}{'' if name in known else near(name, known)}: build it with `deskgym image build {recipe}`"
        f" ({there}; stock recipes are {', '.join(stock)}, or a YAML file of your own)",
        kind="no_image",
    )
