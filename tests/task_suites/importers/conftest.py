"""A small copy of ScienceBoard's folder with task files of our own: one of every kind of item."""

import json
from pathlib import Path
from typing import Any

import pytest

from deskgym.task_suites.importers import scienceboard

PORT = "«PORTLIKE»"
LAUNCH = {
    "KAlgebra": {"func": "launch", "wait": 2.5, "command": f"A=/b /app/bin/kalgebra {PORT}", "shell": True},
    "Celestia": {"func": "launch", "wait": 10, "command": f"A=/b /app/bin/celestia-qt6 {PORT}", "shell": True},
    "GrassGIS": {
        "func": "launch",
        "command": 'gnome-terminal -- /bin/bash -ic "FLASK_PORT=1 grass --gui /home/user/data/moon/PERMANENT"',
        "shell": True,
    },
    "ChimeraX": {"func": "launch", "command": ["chimerax", "--cmd", f"remotecontrol port {PORT}"]},
    "Lean": {"func": "launch", "command": "code /home/user/sci", "shell": True},
    "TeXstudio": {"func": "launch", "command": "texstudio /home/user/a/main.tex", "shell": True},
}


def task(program: str, evaluate: list[Any], *setup: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A task in upstream's format; a change to None removes the key."""
    data = {
        "type": program,
        "sort": "VM",
        "steps": 5,
        "instruction": "Do it.",
        "version": "0.1",
        "snapshot": "sci_bench",
        "initialize": [LAUNCH[program], *setup],
        "evaluate": evaluate,
    }
    return {key: value for key, value in (data | changes).items() if value is not None}


CURVE = {
    "type": "eqn",
    "key": [[1, 1], [2, 4.0], [-3, 5]],
    "value": {"(1, 1)": True, "(2, 4.0)": True, "(-3, 5)": False, "color": "#00ff00", "res": 500},
}
STOP = {"type": "stop", "value": "ANS", "args": ["two", "words"]}
LEAN = [
    {"func": "import", "libs": ["Mathlib"]},
    {"func": "open", "libs": ["Set", "Filter"]},
    {"func": "def", "expr": "def two : ℕ := 2"},
    {"func": "query", "expr": "theorem T_1 : two = 2 := by sorry"},
]
LOG_ITEMS = [{"func": "clear_log"}, {"func": "turn", "axis": "y", "angle": 1}]
MODEL = {"func": "open", "name": "1abc"}

FILES: dict[str, dict[str, Any]] = {
    "VM/KAlgebra/A-01.json": task(
        "KAlgebra",
        [CURVE, {"type": "eqn", "key": "#SIZE", "value": 2}, STOP],
        {"func": "tab", "index": 1},
        {"func": "func_2d", "expr": "x->x^2"},
        {"func": "func_3d", "expr": "x^2+y^2=z"},
        {"func": "touch", "text": "a := 1", "path": "/home/user/a.kal"},
        ans="x->x^2",
    ),
    "VM/KAlgebra/A-02.json": task(
        "KAlgebra",
        [
            {"type": "val", "key": "p", "value": 1.5},
            {"type": "var", "key": "q", "value": "1+i"},
            {"type": "var", "key": "r", "value": "#UNDEF"},
            {"type": "eqn", "key": [[1, 2, 3]], "value": {"(1, 2, 3)": True, "style": 2}},
        ],
    ),
    "VM/Celestia/A-01.json": task(
        "Celestia",
        [
            {"type": "info", "key": "lambda dump: dump['time']['scale']", "value": 2.5},
            {
                "type": "info",
                "key": "lambda dump: dump['entity']['Mars']['distance']",
                "value": 0,
                "pred": "lambda key, value: abs(key - value) < 4500",
            },
        ],
        {"func": "opt", "depth": 6},
        query=[{"name": "Mars", "type": 2}, {"name": "Sol", "type": 1}],
    ),
    "VM/GrassGIS/A-01.json": task(
        "GrassGIS",
        [
            {
                "type": "db",
                "cmd": "v.db.select",
                "kwargs": {"map": "roads@PERMANENT", "format": "json"},
                "key": "lambda out: out['info']['columns']",
                "value": "WIDTH",
                "pred": "lambda key, value: any([item['name'] == value for item in key])",
            },
            {"type": "info", "key": "lambda dump: dump['layers']", "value": ["a", 2]},
        ],
        {"func": "execute", "command": "rm -f /home/user/data/*/.gislock", "shell": True},
        {"func": "map", "grassdb": "/home/user/data", "location": "mars", "mapset": "PERMANENT"},
        {"func": "layer", "wait": 5, "query": {"name": "roads"}},
        {"func": "scale", "scale": 400},
    ),
    "VM/ChimeraX/A-01.json": task(
        "ChimeraX",
        [
            {"type": "states", "key": "models.name", "value": "1abc"},
            {"type": "states", "key": "lambda key: key.startswith('rings')", "value": None},
            {
                "type": "states",
                "find": "lambda key, value: key.endswith('_name') and value == 'bonds'",
                "key": "lambda key: '.'.join(key.split('.')[:-1] + ['count'])",
                "value": 12,
            },
            {"type": "states", "key": "view.matrix", "pattern": "^\\[ +1\\."},
            {"type": "info", "key": "sel", "value": ["atom 1", "atom 2"]},
            {"type": "file", "key": "/home/user/a.pdb", "value": "ATOM 14"},
            {
                "type": "file",
                "key": "/home/user/log.txt",
                "value": "lambda: __import__('datetime').datetime.today().strftime('%Y-%m-%d')",
            },
        ],
        {"func": "execute", "command": ["rm", "/home/user/.history"]},
        *LOG_ITEMS,
        MODEL,
        {"func": "alphafold_match", "name": "A0"},
        {"func": "color", "style": "bypolymer"},
        {"func": "download", "url": "https://example.org/1abc.cif", "path": "/home/user/1abc.cif"},
    ),
    "VM/Lean/A-01.json": task("Lean", [{"type": "placeholder"}], *LEAN, snapshot=None),
    "VM/TeXstudio/A-01.json": task(
        "TeXstudio",
        [
            {"type": "compile", "path": "/home/user/a", "file": "main"},
            {"type": "file", "path": "/home/user/a/main.tex", "source": "??", "target": "42"},
            {"type": "include", "path": "/home/user/a/main.tex", "pattern": "\\\\cite\\{.+\\}"},
        ],
        {"func": "touch", "text": "", "path": "/home/user/a/main.tex"},
        *({**item, "func": f"chimerax_{item['func']}"} for item in [*LOG_ITEMS, MODEL]),
        {"func": "append", "path": "/home/user/a/main.tex", "content": "% end"},
    ),
    "Dual/ChimeraX/A-01.json": task("ChimeraX", [{"type": "stop", "value": "FAIL"}], {"func": "destroy", "wait": 2.5}),
    "Raw/Lean/A-01.json": task(
        "Lean", [{"type": "placeholder"}], sort="Raw", steps=50, snapshot=None, penalty="1:5", initialize=LEAN
    ),
}


def write(folder: Path, name: str, data: Any) -> None:
    """Put a task file (or any text) into the folder."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    text = data if isinstance(data, str) else json.dumps(data, indent=4, ensure_ascii=False)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def files() -> dict[str, dict[str, Any]]:
    """The files' contents, for a test to change before it writes them."""
    return json.loads(json.dumps(FILES))  # not deepcopy: files share items


@pytest.fixture
def copy_of(tmp_path: Path) -> Any:
    """Writes files into ``tasks`` of a fresh folder and loads it."""

    def make(contents: dict[str, Any], **options: Any) -> scienceboard.Collection:
        for name, data in contents.items():
            write(tmp_path / "tasks", name, data)
        return scienceboard.load(tmp_path, **options)

    return make


@pytest.fixture(scope="session")
def upstream() -> Path:
    """The given upstream files, which lie beside the checkout and not in it."""
    folder = Path(__file__).parents[3] / "../shared/upstream/scienceboard"
    if not folder.is_dir():
        pytest.skip("ScienceBoard's own task files are not at ../shared/upstream/scienceboard")
    return folder.resolve()
