"""What PyMOL, in the clean machine, finds in the agent's sessions, molecules and pictures, and what is right."""

from __future__ import annotations

import base64
import json
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.answer import answered, parse_number
from deskgym.envs.evaluation.checks.image import difference
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.clean_run import run_clean
from deskgym.envs.evaluation.readers.files import parse_json, read_file
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.programs.pymol.program import MOLECULES, Molecule

SESSION = Path(__file__).parent / "site" / "session.py"
TIMEOUT = 100.0
LIMIT = 32 << 20  # bytes of the agent's file
_ASKED, _FOUND, _PICTURE = "/tmp/asked.json", "/tmp/found.json", "/tmp/right.png"

Representation = Literal[
    "sticks", "spheres", "surface", "labels", "nb_spheres", "cartoon", "ribbon", "lines", "mesh", "dots", "dashes",
    "nonbonded", "ellipsoids", "cell",
]  # fmt: skip
Aspect = (
    Literal["objects", "ss", "color", "label", "measures", "drawing", "rotation", "center", "scenes"] | Representation
)
"""What may be compared; ``ss`` is the secondary structure and how it is drawn, ``drawing`` are the settings that change
what is seen, ``rotation`` and ``center`` are the view's."""

LOOKS = ("objects", "ss", "color", "label", "measures", "drawing", *get_args(Representation))
"""What is compared if nothing is said: atoms with their places and bonds, and all that a picture shows but the view."""


def state(
    final: FinalState,
    path: str,
    molecules: list[Molecule],
    like: str = "",
    counts: list[Aspect] | None = None,
    and_: list[Aspect] | None = None,
    settings: list[str] | None = None,
    selections: list[str] | None = None,
) -> Outcome:
    """A session that the agent saved is what commands make of the molecules; or a molecule's file is.

    Both are compared in PyMOL in the clean machine. Of the session, only molecules, measures, groups, selections,
    colours, settings, scenes and the view are read: nothing in it is run.

    Args:
        final: the final state.
        path: the agent's file: a session (``.pse``), or a molecule in a format of PyMOL's.
        molecules: what is opened first, each as an object of its name.
        like: commands of PyMOL's, one per line.
        counts: what is compared; ``LOOKS`` if left out.
        and_: what is compared beside it.
        settings: the names of settings that are compared.
        selections: the names of selections that are compared.

    Example:
        ```yaml
        - pymol.state: {path: /home/user/work/view.pse, molecules: [1hpv], like: "show spheres, chain A"}
        ```
    """
    path = legal_path(path)
    aspects = [*(counts or LOOKS), *(and_ or []), *["settings"] * bool(settings), *["selections"] * bool(selections)]
    asked = {
        "commands": _commands(molecules, like), "file": f"/tmp/agents{posixpath.splitext(path)[1]}", "counts": aspects,
        "settings": settings or [], "selections": selections or [],
    }  # fmt: skip

    def compare(machine: Machine) -> dict[str, Any]:
        try:
            return _ask(final, asked, machine.get(path, limit=LIMIT))
        except GuestCallError as error:
            raise CheckFailed(f"{path}: {error}") from None

    found = final.read_once(f"pymol:{path}:{asked}", compare)
    if found["error"]:
        return False, f"{path} cannot be read: {shown(found['error'], 400)}"
    return not found["differs"], f"{path}: {shown('; '.join(found['differs']) or 'all is as it should be', 800)}"


def answer(
    final: FinalState, ask: list[Any], molecules: list[Molecule], like: str = "", digits: int = 0, unit: str = ""
) -> Outcome:
    """The agent's answer is what PyMOL says of the molecules in the clean machine.

    Args:
        final: the final state.
        ask: a function of PyMOL's API and its arguments, such as ``[count_atoms, elem N]``.
        molecules: what is opened first.
        like: commands that come before, one per line.
        digits: of a number, how many digits after the point must be right.
        unit: what may stand after a number.
    """
    return says(final, answered(final), ask, molecules, like, digits, unit)


def says(
    final: FinalState,
    got: str,
    ask: list[Any],
    molecules: list[Molecule],
    like: str = "",
    digits: int = 0,
    unit: str = "",
) -> Outcome:
    """Whether a text is what PyMOL says; see ``answer``."""
    asked = {"commands": _commands(molecules, like), "ask": ask}
    right = final.read_once(f"pymol:{asked}", lambda machine: _ask(final, asked))["answer"]
    said = f"it says {shown(got)}; right is {right}"
    if isinstance(right, str):
        wanted = "".join(line for line in right.split() if not line.startswith(">"))  # without FASTA's headers
        letters = "".join(line for line in got.split() if not line.startswith(">"))
        return letters.upper() == wanted.upper(), said
    number = parse_number(got, [unit] if unit else [])
    return number is not None and abs(number - right) <= (0.6 * 10**-digits if digits else 0.001), said


def picture(
    final: FinalState, path: str, size: tuple[int, int], molecules: list[Molecule], like: str = "", most: float = 0.15
) -> Outcome:
    """A PNG file of the agent's is the picture that PyMOL ray-traces after these commands.

    Args:
        final: the final state.
        path: the file.
        size: width and height in pixels.
        molecules: what is opened first.
        like: commands, one per line.
        most: how many pixels may differ visibly, as a share of those that are not background.
    """
    got = limited.read("picture", read_file(final, path, LIMIT), path)
    if (got["width"], got["height"]) != size:
        return False, f"{path} has {got['width']} x {got['height']} pixels; right are {size[0]} x {size[1]}"
    asked = {"commands": _commands(molecules, like), "picture": [_PICTURE, *size]}
    made = final.read_once(f"pymol:{asked}", lambda machine: _ask(final, asked))
    right = limited.read("picture", base64.b64decode(made["picture"]), "the right picture")
    pixels = _pixels(right)
    drawn = difference(pixels, np.full_like(pixels, pixels[0, 0]))
    share = difference(_pixels(got), pixels) / max(drawn, 1e-6)
    return share <= most, f"{share:.3f} of what is drawn in {path} is not as it should be; at most {most} may differ"


def _pixels(picture: dict[str, Any]) -> NDArray[np.uint8]:
    rgb = base64.b64decode(picture["rgb"])
    return np.frombuffer(rgb, np.uint8).reshape(picture["height"], picture["width"], 3)


def _commands(molecules: list[Molecule], like: str) -> list[str]:
    return [*(f"load {MOLECULES[name]}, {name}" for name in molecules), *like.splitlines()]


def _ask(final: FinalState, asked: dict[str, Any], given: bytes | None = None) -> dict[str, Any]:
    """What ``session.py`` finds."""
    files: dict[str, bytes | Path] = {
        "/tmp/session.py": SESSION,
        _ASKED: json.dumps({**asked, "out": _FOUND}).encode(),
        _FOUND: b"",  # what was found before is not
    }
    if given is not None:
        files[asked["file"]] = given
    argv = ["/usr/bin/python3", "-I", "/tmp/session.py", _ASKED]
    clean, done = run_clean(final, argv, files, "read the file in PyMOL", TIMEOUT)
    said = (done.stderr or done.stdout).decode(errors="replace")[-400:]
    if "PyMOL refuses" in said or (done.returncode != 0 and given is None):
        raise RuntimeError(f"the evaluator's own commands fail: {said}")  # nothing of the agent's was read
    if done.returncode != 0:
        raise CheckFailed(f"the file cannot be read: {said}")
    found = dict(parse_json(clean.get(_FOUND).decode(), "what PyMOL found"))
    if "picture" in asked:
        found["picture"] = base64.b64encode(clean.get(_PICTURE, limit=LIMIT)).decode()
    return found


CHECKS: Mapping[str, CheckFunction] = {"pymol.state": state, "pymol.answer": answer, "pymol.picture": picture}
"""By the names that task files use."""
