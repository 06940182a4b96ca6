"""Starts the guest: ``python -m deskgym.envs.guest --fd N``, or ``python PATH/envs/guest --fd N``.

The second way leaves ``deskgym/__init__.py`` alone, which would load Gymnasium and numpy: the guest is to be small.
"""

import sys
from pathlib import Path


def _as_package() -> None:
    """Make ``deskgym.envs.guest`` importable from this folder without running the packages above it."""
    from types import ModuleType

    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    for name, path in (
        ("deskgym", here.parents[1]),
        ("deskgym.envs", here.parent),
        ("deskgym.envs.guest", here),
    ):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        package.__package__ = name
        sys.modules[name] = package
    if (here.parents[2] / "boot.py").is_file():  # a guest runtime, which may have plugins beside the package
        sys.path.append(str(here.parents[2]))


if __name__ == "__main__":
    if not __package__:
        _as_package()
    from deskgym.envs.guest.server import main

    sys.exit(main(sys.argv[1:]))
