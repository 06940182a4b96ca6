"""What GRASS's modules say of the agent's maps, and of the answer to a question: asked in the clean machine."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.answer import answered, parse_number
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers.clean_run import run_clean
from deskgym.task_suites.programs.grass.program import (
    DATA,
    GISRC,
    LOCATION,
    SESSION,
    SITE,
    in_mapset,
    session_file,
)
from deskgym.task_suites.programs.grass.state import state as state_of
from deskgym.task_suites.programs.grass.window import dump

TIMEOUT = 120.0  # seconds
LIMIT = 64 << 20  # bytes of the agent's maps
_COPY = "/home/user/theirs"


def maps(
    final: FinalState,
    right: list[str],
    asked: list[str],
    commands: list[str] | None = None,
    mapset: str = "PERMANENT",
    files: dict[str, str] | None = None,
) -> Outcome:
    """Modules that are asked of the agent's maps say the same as of those that the right commands make.

    The agent's location is copied to the clean machine, and asked there; then the right maps are made there of the
    maps that there were at first.

    Args:
        final: the final state.
        right: commands that make what is right, such as ``"v.extract input=countries output=africa where=..."``.
        asked: commands that print what must be the same, such as ``"v.info -t map=africa"``.
        commands: as in ``grass.open``: what made the maps that the task began with.
        mapset: as in ``grass.open``.
        files: what the right commands read, by path.

    Example:
        ```yaml
        - grass.maps: {right: [g.region n=60 s=30 save=strip], asked: [g.region -g region=strip]}
        ```
    """
    theirs, ours = final.read_once(
        f"grass:{right}:{asked}:{commands}:{mapset}:{files}",
        lambda _: _ask(final, right, asked, commands or [], mapset, files or {}),
    )
    for command, found, wanted in zip(asked, theirs, ours, strict=True):
        _require_answer(command, wanted)
        if found.startswith("!"):
            return False, f"{command!r} fails on the agent's maps: {found[1:]}"
        if found != wanted:
            return False, f"{command!r} says {shown(found, 400)}; right is {shown(wanted, 400)}"
    return True, f"all of {asked} say the right"


def answer(
    final: FinalState,
    asked: str,
    key: str | None = None,
    commands: list[str] | None = None,
    mapset: str = "PERMANENT",
    within: float | None = None,
    units: list[str] | None = None,
) -> Outcome:
    """The agent's answer is what a module prints, of the maps as they were at first.

    Args:
        final: the final state.
        asked: the command, such as ``"r.univar -g map=natural_earth"``.
        key: of lines such as ``mean=12`` the one whose value it is; the whole text if left out.
        commands: as in ``grass.open``.
        mapset: as in ``grass.open``.
        within: how much a number may differ; a text is compared without regard to capital letters if left out.
        units: what may stand after a number.
    """
    got = answered(final)
    _, (printed,) = final.read_once(
        f"grass:{asked}:{commands}:{mapset}", lambda _: _ask(final, [], [asked], commands or [], mapset)
    )
    _require_answer(asked, printed)
    right = printed
    if key is not None:
        values = dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
        if key not in values:
            raise RuntimeError(f"{asked!r} prints no {key}: {printed}")
        right = values[key].strip().strip("'\"")
    said = f"it says {shown(got)}; right is {shown(right)}"
    if within is None:
        return " ".join(got.split()).casefold() == " ".join(right.split()).casefold(), said
    number = parse_number(got, units)
    return number is not None and abs(number - float(right)) <= within, said


def layer(
    final: FinalState,
    map: str,
    label: str | None = None,
    opacity: float | None = None,
    options: dict[str, Any] | None = None,
) -> Outcome:
    """The layer of a map, the top one where there are several, has these looks.

    Args:
        final: the final state.
        map: its name, with its mapset.
        label: what its row says.
        opacity: from 0, which is not seen, to 1; a hundredth less or more will do.
        options: of the command that draws it, such as ``{width: 3}``.
    """
    found = final.read_once("grass:state", state_of)
    if map not in found["label"]:
        return False, f"there is no layer of {map}; there are {sorted(found['label'])}"
    if label is not None and found["label"][map] != label:
        return False, f"the layer of {map} is called {found['label'][map]!r}; right is {label!r}"
    if opacity is not None and abs(found["opacity"][map] - opacity) > 0.011:
        return False, f"the opacity of {map} is {found['opacity'][map]}; right is {opacity}"
    for name, wanted in (options or {}).items():
        got = str(found["options"][map].get(name, ""))
        number = parse_number(got)
        if got != str(wanted) and (number is None or number != parse_number(str(wanted))):
            return False, f"{map} is drawn with {name}={shown(got)}; right is {wanted}"
    return True, f"the layer of {map} is as it should be"


def features(final: FinalState, map: str, where: str, commands: list[str] | None = None) -> Outcome:
    """The layer of a vector map draws just the features that fit a condition, whatever words say so.

    Args:
        final: the final state.
        map: its name, with its mapset.
        where: the condition, in SQL.
        commands: as in ``grass.open``.
    """
    state = final.read_once("grass:state", state_of)
    if map not in state["shown"]:
        return False, f"{map} is not shown; shown are {state['shown']}"
    drawn = state["options"][map]
    if "shape" not in drawn.get("display", "shape").split(","):
        return False, f"the features of {map} are not drawn, but {drawn['display']}"
    conditions = [shlex.quote(f"where={each}") for each in (where, drawn.get("where", "1=1"))]
    asked = [f"v.db.select -c map={map} columns=cat {condition}" for condition in conditions]
    _, (right, found) = final.read_once(
        f"grass:{asked}:{commands}", lambda _: _ask(final, [], asked, commands or [], "PERMANENT")
    )
    _require_answer(asked[0], right)
    if found.startswith("!"):
        return False, f"the condition {drawn.get('where')!r} is not one: {found[1:]}"
    cats = categories(found.replace("\n", ",")) & categories(drawn.get("cats") or "1-100000")
    wanted = categories(right.replace("\n", ","))
    return cats == wanted, f"{len(cats)} features are drawn; right are {len(wanted)}, where {where}"


def _require_answer(command: str, said: str) -> None:
    """A command of the evaluator's that fails on its own maps is its mistake."""
    if said.startswith("!"):
        raise RuntimeError(f"{command!r} fails on the right maps: {said[1:]}")


def categories(text: str) -> set[int]:
    """The numbers of a list such as ``1,3-5``.

    Examples:
        >>> sorted(categories("1,3-5"))
        [1, 3, 4, 5]
    """
    found: set[int] = set()
    for part in filter(None, (each.strip() for each in text.split(","))):
        bounds = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if bounds is None:
            raise CheckFailed(f"{shown(text, 100)} is no list of categories")
        found |= set(range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1))
    return found


def _ask(
    final: FinalState,
    right: Sequence[str],
    asked: Sequence[str],
    commands: list[str],
    mapset: str,
    given: Mapping[str, str] | None = None,
) -> tuple[list[str], list[str]]:
    """What the commands print of the agent's maps (nothing where ``given`` is None), and of the right ones."""
    compare = given is not None
    files: dict[str, bytes | Path] = {"/tmp/compare.py": SITE / "compare.py", GISRC: session_file(LOCATION)}
    files |= {path: text.encode() for path, text in (given or {}).items()}
    with tempfile.TemporaryDirectory() as folder:
        if compare:
            _wait_for_modules(final)
            try:
                final.machine.get_folder(posixpath.join(DATA, LOCATION), Path(folder) / LOCATION, limit=LIMIT)
            except GuestCallError as error:
                raise CheckFailed(f"the agent's maps cannot be read: {error}") from None
            files[_COPY] = Path(folder)
        task = {
            "asked": list(asked), "right": in_mapset(mapset, [*commands, *right]), "mapset": in_mapset(mapset, []),
            "session": SESSION, "gisrc": GISRC, "data": DATA, "theirs": _COPY if compare else "",
        }  # fmt: skip
        files["/tmp/task.json"] = json.dumps(task).encode()
        argv = ["sh", "-c", "python3 -I /tmp/compare.py < /tmp/task.json"]
        _, done = run_clean(final, argv, files, "ask GRASS of its maps", TIMEOUT)
    if done.returncode:
        raise RuntimeError(f"GRASS could not be asked: {done.stderr.decode(errors='replace')[-800:]}")
    found = json.loads(done.stdout)
    return found["theirs"], found["ours"]


def _wait_for_modules(final: FinalState) -> None:
    """Give what runs in GRASS's window time to end; maps count whether the window is there or not."""
    try:
        final.read_once("grass:dump", dump)
    except CheckFailed:
        pass


CHECKS: Mapping[str, CheckFunction] = {
    "grass.maps": maps,
    "grass.answer": answer,
    "grass.layer": layer,
    "grass.features": features,
}
"""By the names that task files use."""
