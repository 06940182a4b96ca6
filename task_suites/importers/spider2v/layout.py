"""What upstream's machine has at ``/home/user`` and on its PATH, as prepared layers.

The commands lie in ``/opt/deskgym/bin``, which comes first on every session's PATH and belongs to root: an agent can
change what its own shell finds, and nothing that an evaluation runs in the clean machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.task_suites.importers.spider2v.guest import commands

HOME = "/home/user"
CONDA = f"{HOME}/anaconda3"
BIN = "/opt/deskgym/bin"
OWN = "/opt/deskgym/spider2v"
SETUP_BIN = f"{OWN}/setup-bin"
"""Commands of setup scripts alone; they come before all others."""

GUEST = Path(__file__).parent / "guest"
FOLDERS = ("Desktop", "Documents", "Downloads", "projects", ".config", ".dbt")
"""Those of the home folder that upstream's machine has and its scripts do not make."""

MISSING = ("docker", "astro")
"""Commands that are there for the apps that bring them alone."""

BASHRC = r"""PS1='user@desktop:\w\$ '
HISTFILE=
export BROWSER=google-chrome
"""
"""Upstream's prompt; and Python opens pages with the command that knows this machine, not with Chromium itself."""
_FILES = {
    f"{OWN}/commands.py": (GUEST / "commands.py", 0o755),
    f"{OWN}/setup.bash": (GUEST / "setup.bash", 0o644),
    f"{SETUP_BIN}/sleep": (GUEST / "sleep.sh", 0o755),
    f"{BIN}/sudo": (GUEST / "sudo.sh", 0o755),
    f"{BIN}/systemctl": (GUEST / "systemctl.sh", 0o755),
    **{f"{BIN}/{name}": (GUEST / "missing.sh", 0o755) for name in MISSING},
    f"{CONDA}/etc/profile.d/conda.sh": (GUEST / "conda.sh", 0o644),
}


def _recipe(name: str, files: Mapping[str, tuple[bytes | Path, int]], more: str = "", **options: object) -> LayerRecipe:
    """A layer of files: those of the home folder are the agent's, the others root's."""
    lines = [
        f"install -D -m {mode:o} /tmp/layout/{number} {path}" for number, (path, (_, mode)) in enumerate(files.items())
    ]
    return LayerRecipe(
        name,
        "\n".join([*lines, more, f"chown -R 1000:1000 {HOME}"]),
        files=tuple((f"/tmp/layout/{number}", source) for number, (source, _) in enumerate(files.values())),
        user="guest",
        **options,  # type: ignore[arg-type]
    )


LAYER = _recipe(
    "spider2v-home",
    {**_FILES, f"{HOME}/.bashrc": (BASHRC.encode(), 0o644)},
    "\n".join(
        [
            f"mkdir -p {OWN}/environments {CONDA}/envs {CONDA}/bin",
            *(f"mkdir -p {HOME}/{folder}" for folder in FOLDERS),
            *(f"ln -s {OWN}/commands.py {BIN}/{name}" for name in commands.COMMANDS),
        ]
    ),
)
"""The layout that all tasks have."""


def app_layer(
    app: str, environments: Mapping[str, str] | None = None, files: Mapping[str, bytes | Path] | None = None
) -> LayerRecipe:
    """What an app's tasks have beside ``LAYER``.

    Args:
        app: its name.
        environments: conda's name of an environment → the tool environment's, where they differ.
        files: absolute path → content; executable in ``/opt/deskgym/bin``, ``/opt/deskgym/spider2v/setup-bin`` and
            ``/opt/deskgym/spider2v/sudo``.
    """
    lines = "".join(f"{conda} {ours}\n" for conda, ours in (environments or {}).items())
    placed: dict[str, tuple[bytes | Path, int]] = {
        path: (source, 0o755 if path.startswith((BIN, SETUP_BIN, f"{OWN}/sudo")) else 0o644)
        for path, source in (files or {}).items()
    }
    return _recipe(f"spider2v-{app}", placed | {f"{OWN}/environments/{app}": (lines.encode(), 0o644)}, bases=(LAYER,))
