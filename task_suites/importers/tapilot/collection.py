"""Loads a copy of Tapilot-Crossing, in either published layout; one bad turn never hides the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from sys import stdlib_module_names

from deskgym.envs.errors import TaskError
from deskgym.task_suites.importers.json_files import Problem, one_of
from deskgym.task_suites.importers.published import not_found
from deskgym.task_suites.importers.tapilot import folder_layout, line_layout, scripts
from deskgym.task_suites.importers.tapilot.recall import library_functions
from deskgym.task_suites.importers.tapilot.turn import UpstreamTurn
from deskgym.task_suites.importers.tapilot.words import LIBRARY, file_kind, table_of

FOLDERS, LINES = "interaction_data", ("dialogue_data", "interaction_data_json")
RESOURCES = ("resource", "resources", "src")
_PYPI = {"sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow", "cv2": "opencv-python-headless"}
_RIGHT_FOLDER = (
    "give the folder of a copy of Tapilot-Crossing, or its 'data' folder, which has interaction_data/ (2024) or "
    "dialogue_data/*.jsonl (version 1.0; interaction_data_json/ will do), and resource/ with the tables"
)


@dataclass(frozen=True)
class Collection:
    """The turns of one copy of the benchmark.

    Attributes:
        folder: that has ``interaction_data``, ``dialogue_data`` or ``interaction_data_json``.
        resources: path of each table, by file name.
        library: the private library's source, or ``""``.
        turns: every turn that was read without a mistake.
        problems: every mistake of the others.
        skipped: folders and files in places of turns that are none.
    """

    folder: Path
    resources: Mapping[str, Path]
    library: str
    turns: tuple[UpstreamTurn, ...]
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Path, ...] = ()

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, turn_id: str) -> UpstreamTurn:
        """The turn with this id; for JSONL files the data id alone will do where only one turn has it.

        Raises:
            TaskError: there is none, or it has mistakes; says which, or which ids are close.
        """
        if turn_id in self._by_id:
            return self._by_id[turn_id]
        same = [turn.id for turn in self.turns if turn.layout == "lines" and turn.data_id == turn_id]
        if len(same) == 1:
            return self._by_id[same[0]]
        if same:
            raise TaskError(f"{len(same)} turns have the data id {turn_id!r}; give one of {one_of(tuple(same))}")
        mistakes = (problem for problem in self.problems if broken_id(problem) == turn_id)
        raise not_found("turn", turn_id, self._by_id, mistakes, self.folder)

    @cached_property
    def _by_id(self) -> dict[str, UpstreamTurn]:
        return {turn.id: turn for turn in self.turns}

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of the private functions."""
        return library_functions(self.library)

    def tables(self, turn: UpstreamTurn) -> tuple[str, ...]:
        """The file names of a turn's tables: its domain's, and all that its code mentions."""
        own = table_of(turn.domain)
        first = (own,) if own is not None and own in self.resources else ()
        return tuple(dict.fromkeys((*first, *scripts.mentioned(_codes(turn), tuple(self.resources)))))

    def files(self, turn: UpstreamTurn) -> dict[str, bytes]:
        """What the working folder of a turn's kernel holds: its tables, and the private library.

        Raises:
            TaskError: a table cannot be read.
        """
        made: dict[str, bytes] = {}
        for name in self.tables(turn):
            try:
                made[name] = self.resources[name].read_bytes()
            except OSError as error:
                raise TaskError(f"{self.resources[name]} cannot be read: {error.strerror}") from error
        if self.library:
            made[f"{LIBRARY}.py"] = self.library.encode()
        return made

    def preload(self, turn: UpstreamTurn) -> tuple[str, ...]:
        """Modules for a turn's kernels to have loaded, beside the usual ones: all of the copy's, or none.

        All turns that need any ask for the same ones, so that a machine loads them once.
        """
        own = scripts.slow_imports([*_codes(turn), self.library if turn.private else ""])
        return self._slow if own else ()

    @cached_property
    def _slow(self) -> tuple[str, ...]:
        codes = (code for turn in self.turns for code in _codes(turn))
        return tuple(sorted(scripts.slow_imports([*codes, self.library])))

    @cached_property
    def _library_imports(self) -> frozenset[str]:
        return scripts.imports([self.library])

    def reasons(self, turn: UpstreamTurn, libraries: Path | None = None) -> list[str]:
        """Everything that keeps a turn from running here; empty when nothing does.

        Args:
            turn: which.
            libraries: the folder of those that its code can import; None for this Python's own.
        """
        found: list[str] = []
        table = table_of(turn.domain)
        if table not in self.resources:
            found.append(f"its table {table} is not in {self.folder}/{RESOURCES[0]}")
        modules = scripts.imports(_codes(turn))
        if not self.library and (turn.private or LIBRARY in modules):
            found.append(f"the private library {LIBRARY}.py is not in {self.folder}/{RESOURCES[0]}")
        if self.library and (turn.private or LIBRARY in modules):
            modules |= self._library_imports
        for module in sorted(modules - {LIBRARY}):
            if module not in stdlib_module_names and not _installed(module, libraries):
                found.append(
                    f"its code imports {module}, which is not installed: pip install {_PYPI.get(module, module)}"
                )
        return found


def broken_id(problem: Problem) -> str:
    """What the turn with a mistake is called: its folder, or file and line, such as ``"normal/line-12"``."""
    place, _, rest = problem.file.rpartition(".")[0].partition("/")
    if place in LINES:
        return f"{rest}/line-{problem.line}"
    return "/".join(problem.file.split("/")[:4])


def load(path: str | PathLike[str]) -> Collection:
    """Read and check every turn of a copy of Tapilot-Crossing.

    Mistakes end up in ``problems``; the other turns are loaded all the same.

    Args:
        path: the copy's folder, or its ``data`` folder.

    Raises:
        TaskError: the folder is no copy of the benchmark, or holds no turns.
    """
    folder = data_folder(Path(path).expanduser())
    found = _Found()
    if (folder / FOLDERS).is_dir():
        found.read_folders(folder / FOLDERS)
    for file in _line_files(folder):
        found.read_lines(file, file.relative_to(folder).as_posix())
    if not found.turns and not found.problems:
        raise TaskError(f"{folder} has no turns in it: {_RIGHT_FOLDER}")
    place = next((folder / name for name in RESOURCES if (folder / name).is_dir()), folder / RESOURCES[0])
    library = found.library(place / f"{LIBRARY}.py")
    tables = {file.name: file for file in sorted(place.glob("*.csv"))}
    return Collection(folder, tables, library, tuple(found.turns), tuple(found.problems), tuple(found.skipped))


def data_folder(path: Path) -> Path:
    """The folder that has the turns and resources; TaskError says what the right one looks like."""
    if not path.is_dir():
        raise TaskError(f"{path} is {'not a folder' if path.exists() else 'not there'}: {_RIGHT_FOLDER}")
    for folder in (path, path / "data", path.parent):
        if (folder / FOLDERS).is_dir() or _line_files(folder):
            if folder != path.parent or path.name in (FOLDERS, *LINES):
                return folder
    raise TaskError(f"{path} has neither {FOLDERS} nor {' nor '.join(LINES)} in it: {_RIGHT_FOLDER}")


def _line_files(folder: Path) -> list[Path]:
    """The files of version 1.0, of the first of their folders that has any."""
    found = ([file for file in sorted((folder / name).glob("**/*.json*")) if file.is_file()] for name in LINES)
    return next(filter(None, found), [])


@dataclass
class _Found:
    """What has been read so far."""

    turns: list[UpstreamTurn] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)

    def read_folders(self, root: Path) -> None:
        folders, others = folder_layout.turn_folders(root)
        self.skipped.extend(others)
        for folder in folders:
            turn, problems = folder_layout.read_turn(folder, root)
            self.problems.extend(problems)
            if turn is not None:
                self.turns.append(turn)

    def read_lines(self, file: Path, name: str) -> None:
        parts = name.rpartition(".")[0].split("/")
        kind = next(filter(None, map(file_kind, reversed(parts))), None)
        if kind is None:
            self.skipped.append(file)
            return
        turns, problems = line_layout.read_file(file, name, *kind, prefix="/".join(parts[1:]))
        known = {(turn.mode, turn.data_id) for turn in self.turns if turn.layout == "folders" and parts[0] == LINES[1]}
        self.turns.extend(turn for turn in turns if (turn.mode, turn.data_id) not in known)  # said in both ways
        self.problems.extend(problems)

    def library(self, file: Path) -> str:
        """The private library's source, if the copy has it and it is Python."""
        if not file.is_file():
            return ""
        try:
            source = file.read_text(encoding="utf-8-sig")
            library_functions(source)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            self.problems.append(Problem(f"{file.parent.name}/{file.name}", 1, "", str(error)))
            return ""
        return source


def _codes(turn: UpstreamTurn) -> tuple[str, ...]:
    return turn.history_code, turn.reference_code, turn.reference_all, turn.eval_code


def _installed(module: str, libraries: Path | None) -> bool:
    if libraries is not None:
        return (libraries / module).is_dir() or any(libraries.glob(f"{module}.*"))
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
