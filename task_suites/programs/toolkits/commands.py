"""Puts programs of tool environments on the PATH of the user's session."""

from __future__ import annotations

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.tool_environments import ToolEnvironment

FOLDER = "/opt/deskgym/bin"
"""On every session's PATH, see ``deskgym.envs.guest.session``."""


def on_path(environment: ToolEnvironment, *commands: str) -> tuple[ToolEnvironment, LayerRecipe]:
    """The layers that a program needs so that a user can call these programs of an environment by their names."""
    links = "\n".join(f"ln -s {environment.inside}/bin/{command} {FOLDER}/{command}" for command in commands)
    recipe = LayerRecipe(
        f"{environment.name}-commands", f"mkdir -p {FOLDER}\n{links}", bases=(environment,), user="guest"
    )
    return environment, recipe
