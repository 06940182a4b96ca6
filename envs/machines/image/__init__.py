"""Disk images for virtual machines: recipes, the builder, and where finished images are kept."""

from __future__ import annotations

from deskgym.envs.machines.image.build import Step, build_image
from deskgym.envs.machines.image.image import Image
from deskgym.envs.machines.image.recipe import Recipe, load_recipe, stock_recipes
from deskgym.envs.machines.image.store import find_image, image_folders, images_folder, list_images, remove_image

__all__ = [
    "Image",
    "Recipe",
    "Step",
    "build_image",
    "find_image",
    "image_folders",
    "images_folder",
    "list_images",
    "load_recipe",
    "remove_image",
    "stock_recipes",
]
