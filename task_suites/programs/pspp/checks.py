"""What PSPP, in the clean machine, finds in the agent's data, output and syntax, and what is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.answer import answered, parse_number
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers.clean_run import run_clean
from deskgym.envs.evaluation.readers.files import read_file
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.programs.pspp import reports
from deskgym.task_suites.programs.pspp.program import FOLDER, PSPP, making

TIMEOUT = 60.0
LIMIT = 1 << 20  # bytes of the agent's file, and of its cases as CSV
_LIMITS = ("prlimit", "--as=1073741824", "--cpu=20", "--fsize=33554432")
_THEIRS, _COPY = f"{FOLDER}/.theirs", f"{FOLDER}/.copy.sav"
_CASES, _SYNTAX = f"{FOLDER}/.cases.csv", f"{FOLDER}/.syntax.sps"


def data(
    final: FinalState,
    path: str,
    like: str,
    data: dict[str, str] | None = None,
    files: dict[str, str] | None = None,
    new: list[str] | None = None,
) -> Outcome:
    """A data file of the agent's is what syntax makes of the data: variables, their labels and all, and cases.

    Both are read by PSPP in the clean machine. What the agent did it with, does not count.

    Args:
        final: the final state.
        path: the agent's file.
        like: syntax that makes the right data active; of the first of ``data``, which is open before.
        data: as in ``pspp.open``.
        files: as in ``pspp.open``.
        new: variables that the agent makes: of these, only what the task asks for counts.

    Example:
        ```yaml
        - pspp.data:
            path: /home/user/work/survey.sav
            data: {/home/user/work/survey.sav: "{s[data]}"}
            like: "WEIGHT BY wgt."
        ```
    """
    made = read_file(final, legal_path(path), LIMIT)
    right = _right(final, like, data or {}, files or {})
    return _compared(path, final.read_once(f"pspp:{path}", lambda _: _read(final, made)), right, new or [])


def answer(
    final: FinalState,
    ask: str,
    table: str,
    row: list[str],
    column: str,
    data: dict[str, str],
) -> Outcome:
    """The agent's answer is a number that PSPP prints in the clean machine, as exactly as it prints it.

    Args:
        final: the final state.
        ask: syntax; the first of ``data`` is open before.
        table: the title of the table.
        row: how its row begins; variables are told by their names.
        column: a heading of the table.
        data: as in ``pspp.open``.
    """
    found = dict(_printed(final, ask, data))
    if table not in found:
        raise RuntimeError(f"there is no table {table!r}; there are {', '.join(found)}")
    right = reports.cell(found[table], row, column)
    got = answered(final)
    number, places = parse_number(got), len(right.partition(".")[2])
    near = number is not None and abs(number - float(right)) <= 0.6 * 10**-places
    return near, f"it says {shown(got)}; right is {right}"


def output(final: FinalState, path: str, like: str, data: dict[str, str]) -> Outcome:
    """Output that the agent exported has all tables that syntax prints: as CSV, or in PSPP's own format.

    Of tables with the same title the last ones count, so that not all that might be right can be printed.

    Args:
        final: the final state.
        path: the agent's file: ``.csv`` or ``.spv``.
        like: syntax; the first of ``data`` is open before.
        data: as in ``pspp.open``.
    """
    made = read_file(final, legal_path(path), LIMIT)
    if path.endswith(".spv"):
        theirs = f"{_THEIRS}.spv"
        argv = [*_LIMITS, "pspp-output", "convert", "-O", "format=csv", theirs, "-"]
        _, done = run_clean(final, argv, {theirs: made}, "read the output", TIMEOUT)
        if done.returncode:
            raise CheckFailed(f"{path} is no output of PSPP's: {shown(done.stderr.decode(errors='replace'), 300)}")
        made = done.stdout
    found = reports.tables(made.decode(errors="replace"))
    right = _printed(final, like, data)
    for title in dict(right):
        wanted, same = ([rows for name, rows in each if name == title] for each in (right, found))
        if same[-len(wanted) :] != wanted:
            told = shown(same or [name for name, _ in found])
            return False, f"{path} has no such table {title}, or one like it after it: it has {told}"
    return True, f"{path} has all tables"


def syntax(
    final: FinalState,
    path: str,
    saves: str,
    like: str,
    data: dict[str, str],
    new: list[str] | None = None,
) -> Outcome:
    """The agent's syntax, run on data of the evaluator's in the clean machine, saves the right data.

    It runs with the option ``--safer``, within limits of time and size, and must end without an error.

    Args:
        final: the final state.
        path: the agent's file.
        saves: the data file that it saves.
        like: syntax that makes the right data active; the first of ``data`` is open before.
        data: as in ``pspp.open``, but other data, so that results which were typed in show.
        new: variables that the agent makes: of these, only what the task asks for counts.
    """
    text, saves = read_file(final, legal_path(path), LIMIT), legal_path(saves)
    right = _right(final, like, data, {})

    def saved(_: Any) -> dict[str, Any]:
        made = making(data).encode()
        script = 'pspp --no-statrc -o /dev/null "$0" || exit 100; exec "$@"'
        argv = ["sh", "-c", script, _SYNTAX, *_LIMITS, *PSPP, path]
        clean, done = run_clean(final, argv, {_SYNTAX: made, path: text}, "run the syntax", TIMEOUT)
        if done.returncode == 100:
            raise RuntimeError("the evaluator's own data cannot be made")
        if done.returncode:
            raise CheckFailed(f"{path} does not run: {shown(done.stdout.decode(errors='replace'), 400)}")
        try:
            return _read(final, clean.get(saves, limit=LIMIT))
        except GuestCallError as error:
            raise CheckFailed(f"{path} does not save {saves}: {error}") from None

    return _compared(saves, final.read_once(f"pspp:{path}:{data}", saved), right, new or [])


def _compared(path: str, found: dict[str, Any], right: dict[str, Any], new: list[str]) -> Outcome:
    differ = reports.differences(found, right, new)
    return not differ, f"{path}: {shown('; '.join(differ) or 'all is as it should be', 800)}"


def _right(final: FinalState, like: str, data: dict[str, str], files: dict[str, str]) -> dict[str, Any]:
    """The right data, as ``reports.data`` tells of it."""

    def make(_: Any) -> dict[str, Any]:
        return _told(final, _started(data, like), _files(files), True)

    return dict(final.read_once(f"pspp:{data}:{files}:{like}", make))


def _started(data: Mapping[str, str], syntax: str) -> str:
    """Syntax that makes the data, opens the first of them, and goes on."""
    opened = f"GET FILE='{next(iter(data))}'.\n" if data else ""
    return f"{making(data)}{opened}SET TVARS=NAMES.\n{syntax}\n"


def _files(files: Mapping[str, str]) -> dict[str, bytes]:
    return {legal_path(path): text.encode() for path, text in files.items()}


def _read(final: FinalState, content: bytes) -> dict[str, Any]:
    """What PSPP says of a data file of the agent's."""
    return _told(final, f"GET FILE='{_THEIRS}.sav'.\n", {f"{_THEIRS}.sav": content}, False)


def _told(final: FinalState, syntax: str, files: Mapping[str, bytes], ours: bool) -> dict[str, Any]:
    """What PSPP says of the data that syntax makes active; without documents, whose lines look like any output."""
    asked = (
        f"{syntax}DROP DOCUMENTS.\nSAVE OUTFILE='{_COPY}'.\nSET TVARS=NAMES TNUMBERS=VALUES.\n"
        f"SYSFILE INFO FILE='{_COPY}'.\nSAVE TRANSLATE /OUTFILE='{_CASES}' /TYPE=CSV /REPLACE /FIELDNAMES.\n"
    )
    clean, printed = _run(final, asked, files, ours)
    try:
        return reports.data(printed, clean.get(_CASES, limit=LIMIT).decode(errors="replace"))
    except (GuestCallError, LookupError, ValueError) as error:
        if ours:
            raise RuntimeError(f"the evaluator's own data cannot be read: {error!r}") from error
        raise CheckFailed(f"its data cannot be compared: {error}") from None


def _run(final: FinalState, syntax: str, files: Mapping[str, bytes], ours: bool) -> tuple[Machine, str]:
    """Run syntax of the evaluator's; what it prints. ``ours``: on its own data, where no error is the agent's."""
    argv = [*_LIMITS, *PSPP, _SYNTAX]
    clean, done = run_clean(final, argv, {**files, _SYNTAX: syntax.encode()}, "ask PSPP", TIMEOUT)
    printed = done.stdout.decode(errors="replace")
    if done.returncode and ours:
        raise RuntimeError(f"the evaluator's own syntax fails: {shown(printed[-600:], 600)}")
    if done.returncode:
        raise CheckFailed(f"PSPP cannot read it: {shown(printed[-400:], 400)}")
    return clean, printed


def _printed(final: FinalState, syntax: str, data: Mapping[str, str]) -> list[tuple[str, reports.Table]]:
    """The tables that syntax prints of the evaluator's data."""
    return reports.tables(
        final.read_once(f"pspp:{data}:{syntax}", lambda _: _run(final, _started(data, syntax), {}, True)[1])
    )


CHECKS: Mapping[str, CheckFunction] = {
    "pspp.data": data,
    "pspp.answer": answer,
    "pspp.output": output,
    "pspp.syntax": syntax,
}
"""By the names that task files use."""
