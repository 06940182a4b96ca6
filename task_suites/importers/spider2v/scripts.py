"""Runs upstream's Bash scripts: those of a setup in the agent's machine, those of an evaluation where it never was."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from fnmatch import fnmatchcase

from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.clean_run import copy_to_clean, run_in
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.importers.spider2v.frame import Scene, Stage
from deskgym.task_suites.importers.spider2v.guest.commands import QUEUE
from deskgym.task_suites.importers.spider2v.layout import HOME, OWN, SETUP_BIN
from deskgym.task_suites.importers.spider2v.windows import open_queued

LIMIT = 256 << 20
OUTPUT = 1 << 20
TIMEOUT = 300.0
"""Seconds that a script may take; upstream's server gives as much."""

JUDGE = f"{OWN}/judge"
"""Where evaluation scripts lie in the clean machine: root's, so that what they run cannot change them."""

_QUEUE, _LOG = "/tmp/.spider2v-queue", "/tmp/.spider2v-log"
_DROPPED = ("anaconda3", "bin", "snap")
"""What of the home folder is no data: the clean machine has its own."""


def run_setup(stage: Stage, text: str, place: str) -> None:
    """Run a script of a setup as the agent's user, and open what it called.

    Args:
        stage: of the setup.
        text: the script.
        place: where upstream puts it; it is removed afterwards.

    Raises:
        SetupError: it took too long, called what is not there, or one of the commands that make files failed in it.
    """
    machine = stage.machine
    machine.put(place, text.encode(), mode=0o755)
    done = machine.run(
        ["/bin/sh", "-c", f'rm -f {_LOG} {_QUEUE}; PATH={SETUP_BIN}:$PATH exec /bin/bash "$0"', place],
        env={QUEUE: _QUEUE, "SPIDER2V_LOG": _LOG, "BASH_ENV": f"{OWN}/setup.bash"},
        timeout=TIMEOUT,
    )
    if done.timed_out:
        raise SetupError(f"{place} took longer than {TIMEOUT:g} s")
    if failures := _failures(machine, stage.app.may_fail):
        raise SetupError(f"{place}: {'; '.join(failures[:5])}")
    machine.run(["rm", "-f", place, _LOG])
    open_queued(stage.setup, _QUEUE)


def _failures(machine: Machine, may_fail: Iterable[str]) -> list[str]:
    try:
        lines = machine.get(_LOG).decode(errors="replace").splitlines()
    except GuestCallError:
        return []  # nothing failed
    return [line for line in dict.fromkeys(lines) if not any(fnmatchcase(line, glob) for glob in may_fail)]


def run_evaluation(scene: Scene, text: str, place: str) -> str:
    """Run a script of an evaluation; gives what it wrote to standard output.

    Raises:
        CheckFailed: it did not come to its end over what the agent left.
    """
    return (scene.app.run_script or run_in_clean_machine)(scene, text, place)


def run_in_clean_machine(scene: Scene, text: str, place: str) -> str:
    """Run a script over copies of the agent's files in a machine that the agent never had.

    What it calls may run code of the agent's, as the same user. Nobody may read Bash's own file there, so the kernel
    lets no process of that user into it, nor into what it writes to.
    """
    machine = scene.clean
    script = f"{JUDGE}/{posixpath.basename(place)}"
    machine.put(script, text.encode(), mode=0o755, owner="guest")
    machine.run(["install", "-m", "711", "/bin/bash", f"{JUDGE}/bash"], user="guest")
    return output_of(machine, [f"{JUDGE}/bash", "--noprofile", "--norc", script], scene.app.environment)


def output_of(machine: Machine, argv: list[str], environment: object = None) -> str:
    """What a command of an evaluation writes to standard output in the clean machine.

    Raises:
        CheckFailed: it took too long, a signal ended it, or the machine did not survive it.
    """
    variables = dict(environment) if environment else None  # type: ignore[call-overload]
    done = run_in(machine, argv, "run the script", TIMEOUT, cwd=HOME, output_limit=OUTPUT, env=variables)
    if done.returncode < 0:
        raise CheckFailed(f"signal {-done.returncode} ended it: only code of the agent's sends one")
    return done.stdout.decode(errors="replace")


def clean_copy(scene: Scene) -> Machine:
    """The second machine, as new, with the agent's files as data and those of ``postconfig``.

    Left out are the shell's and other programs' start files: all that begins with a dot but for what the app keeps.

    Raises:
        CheckFailed: the files are too large, or cannot be read.
    """
    clean = scene.fresh_machine()
    try:
        names = [str(entry["name"]) for entry in scene.machine.guest.list(HOME)]
        visible = [name for name in names if not name.startswith(".") and name not in _DROPPED]
        for name in (*visible, *scene.app.keeps):
            if scene.machine.guest.exists(f"{HOME}/{name}"):
                copy_to_clean(scene.machine, clean, f"{HOME}/{name}", LIMIT)
    except GuestCallError as error:
        raise CheckFailed(f"the agent's files cannot be copied: {error}") from error
    for place, content in scene.placed.items():
        clean.put(place, content)
    return clean
