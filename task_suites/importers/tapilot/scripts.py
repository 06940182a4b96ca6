"""The code that runs in a turn's kernels: the agent's, and those of the clean machine that judges it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterable, Sequence

from deskgym.task_suites.importers.tapilot.turn import Template, UpstreamTurn
from deskgym.task_suites.importers.tapilot.words import LIBRARY

PRED, REF = "pred_result", "ref_result"
"""The folders of the agent's results and of the reference's."""

PREPARE = f"""\
import os as _os, sys as _sys
_sys.argv = ["turn.py", "."]
for _name in ("{PRED}", "{REF}"):
    _os.makedirs(_name, exist_ok=True)
del _os, _sys, _name
"""
"""Every session's first cell. The benchmark's code takes the folder of the tables from ``sys.argv``."""

EMPTY = f"""\
import os as _os, shutil as _shutil
for _name in ("{PRED}", "{REF}"):
    _shutil.rmtree(_name, ignore_errors=True)
    _os.makedirs(_name, exist_ok=True)
del _os, _shutil, _name
"""
"""After the history, so that nothing that it saved counts as a result of this turn."""

EVALUATE = """\
def _evaluate(path):
    import ast, contextlib, io, json
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    space, rows = {"__name__": "__main__"}, []
    for index, statement in enumerate(tree.body):
        output, error = io.StringIO(), ""
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(ast.Module([statement], []), "eval.py", "exec"), space)
        except BaseException as problem:
            error = f"{type(problem).__name__}: {problem}"[:300] or "error"
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    space.pop(node.id, None)
        if output.getvalue() or error:
            rows.append([index, output.getvalue()[:4000], error])
    with open("verdicts.json", "w") as file:
        json.dump(rows, file)
_evaluate("eval.py")
"""
"""Runs eval.py statement by statement, so that one result that is missing does not keep the others from being judged.

What a failed statement should have set is unset, so that no later one takes an earlier result for its own.
"""

_FOLDER = re.compile(r"(?<!\w)(?:pred|ref)_result(?=[/\"'])")
_PICTURE = re.compile(r"\.(?:png|jpe?g)[\"']|\.savefig\(")
_RESULT = re.compile(r"(?:pred|ref)_result/([\w.\- ]+?\.\w+)[\"']")
_READS = re.compile(r"\bread_csv(?:_file)?\(")
_SLOW = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+((?:sklearn|scipy|seaborn|statsmodels|skimage)(?:\.\w+)*)", re.MULTILINE
)
_OPEN_IMPORT = re.compile(rf"^([ \t]*from {LIBRARY} import [^\n#(]*?),[ \t]*(#[^\n]*)?$", re.MULTILINE)


def local_paths(code: str, tables: Iterable[str]) -> str:
    """The code with every path of a table changed to one in the working folder.

    Examples:
        >>> local_paths("pd.read_csv('/home/x/atp.csv')", ["atp.csv"])
        "pd.read_csv('atp.csv')"
    """
    names = "|".join(re.escape(name) for name in tables)
    return re.sub(rf"([\"'])[^\s\"']*/({names})\1", r"\1\2\1", code) if names else code


def into(code: str, folder: str) -> str:
    """The code with all results read from and written to one of the folders ``PRED`` and ``REF``."""
    return _FOLDER.sub(folder, code)


def history_cell(turn: UpstreamTurn, tables: Iterable[str]) -> str:
    """What gives the agent's kernel the state of the turns before."""
    return local_paths(turn.history_code, tables)


def reference_cell(turn: UpstreamTurn, tables: Iterable[str]) -> str:
    """What makes the reference's results: history and this turn, or this turn alone where it reads its table itself."""
    code = turn.reference_all or f"{turn.history_code}\n\n{turn.reference_code}"
    if not _READS.search(code) and _READS.search(turn.reference_code):
        code = turn.reference_code
    return into(local_paths(code, tables), REF)


def oracle_cell(turn: UpstreamTurn, tables: Iterable[str]) -> str:
    """What an agent that knows the reference would run after the history."""
    past, whole = turn.history_code.strip(), turn.reference_all.strip()
    own = whole.removeprefix(past).strip() if past and whole.startswith(past) else ""
    return into(local_paths(own or turn.reference_code, tables), PRED)


def result_names(*codes: str) -> tuple[str, ...]:
    """The files that code saves or reads in the result folders, in order of appearance."""
    return tuple(dict.fromkeys(name for code in codes for name in _RESULT.findall(code)))


def head_cell(template: Template, has_history: bool) -> str:
    """The template's head as a cell; ``""`` where it is no Python.

    After a history the table is not read again, which would undo what the history did to it (as the postprocessing of
    2024 has it).
    """
    tree = _parsed(_OPEN_IMPORT.sub(r"\1", template.head))
    if tree is None:
        return ""
    kept = [item for item in tree if not (has_history and _is_read(item))]
    return "\n".join(ast.unparse(item) for item in kept)


def _is_read(item: ast.stmt) -> bool:
    return isinstance(item, ast.Assign) and _READS.search(ast.unparse(item.value)) is not None


def finish_cell(template: Template, tables: Iterable[str]) -> str:
    """The template's tail as a cell that saves what is there: statement by statement, no figure where none is open."""
    tree = _parsed(into(local_paths(template.tail, tables), PRED)) or []
    saves = [ast.unparse(item) for item in tree if PRED in ast.unparse(item) or _prepares(item)]
    if not any(PRED in save for save in saves):
        return ""
    lines = ["import pickle"]
    for save in saves:
        lines.append("try:")
        if _PICTURE.search(save):
            lines.append(
                "    import matplotlib.pyplot as plt\n    if plt.get_fignums():\n        " + _indented(save, 8)
            )
        else:
            lines.append("    " + _indented(save, 4))
        lines.append("except Exception as problem:\n    print(f'not saved: {type(problem).__name__}: {problem}')")
    return "\n".join(lines)


def _prepares(item: ast.stmt) -> bool:
    """An assignment or import between savings, such as of a file that is opened first."""
    return isinstance(item, ast.Assign | ast.Import | ast.ImportFrom)


def _indented(code: str, spaces: int) -> str:
    """A statement in a block. ``ast.unparse`` writes strings in one line, so that none is changed."""
    return code.replace("\n", "\n" + " " * spaces)


def list_cell(folder: str) -> str:
    """Prints the names of the files in a folder, a line each."""
    return (
        "import os as _os\n"
        f"print(*sorted(entry.name for entry in _os.scandir({folder!r}) if entry.is_file()), sep='\\n')\ndel _os"
    )


def unpickle_cell(names: Sequence[str]) -> str:
    """Loads each file of ``PRED`` into a variable ``result_N``; what cannot be loaded is left out, and told."""
    lines = ["import pickle"]
    for number, name in enumerate(names):
        load = f"with open({PRED + '/' + name!r}, 'rb') as file: result_{number} = pickle.load(file)"
        lines.append(
            f"try:\n    {load}\nexcept BaseException as problem:\n    print({name + ':'!r}, repr(problem)[:200])"
        )
    return "\n".join(lines)


def clean_cell(names: Sequence[str]) -> str:
    """Makes clean pickles in ``PRED`` of the files ``encoded_N``, in the order of ``names``."""
    files = {f"encoded_{number}": f"{PRED}/{name}" for number, name in enumerate(names)}
    return (
        f"from deskgym.task_suites.table_analysis.guest.comparators.carried import carry\ncarry({files!r})\ndel carry"
    )


def imports(codes: Iterable[str]) -> frozenset[str]:
    """The top-level modules that code imports; those of code that is no Python are left out."""
    found: set[str] = set()
    for code in codes:
        for node in ast.walk(ast.Module(_parsed(code) or [], [])):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return frozenset(found)


def slow_imports(codes: Iterable[str]) -> frozenset[str]:
    """The modules that code imports of libraries that take long to load."""
    return frozenset(name for code in codes for name in _SLOW.findall(code))


def mentioned(codes: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Those of the names, in order, that the code mentions."""
    text = "\n".join(codes)
    return tuple(name for name in names if name in text)


def syntax_mistake(code: str) -> str | None:
    """What is wrong with Python code, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            ast.parse(code)
        except SyntaxError as error:
            return f"is not Python: line {error.lineno}: {error.msg}"
        except (ValueError, RecursionError, MemoryError) as error:
            return f"is not Python: {type(error).__name__}: {error}"
    return None


def _parsed(code: str) -> list[ast.stmt] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
