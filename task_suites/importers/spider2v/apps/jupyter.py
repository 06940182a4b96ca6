"""Notebooks: tasks in JupyterLab, whose tool environment has conda's name ``jupyter``."""

from __future__ import annotations

import io
import json
import posixpath
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.envs.errors import SetupError
from deskgym.envs.needs import Needs
from deskgym.task_suites.hooks.waits import POLL
from deskgym.task_suites.importers.spider2v import config
from deskgym.task_suites.importers.spider2v.attempts import play, put_file, run
from deskgym.task_suites.importers.spider2v.frame import App, Attempts, Play, Scene, Stage
from deskgym.task_suites.importers.spider2v.layout import CONDA, HOME, app_layer
from deskgym.task_suites.importers.spider2v.record import Mode, Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import run_in_clean_machine
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.programs.jupyterlab.program import READY
from deskgym.task_suites.programs.jupyterlab.server import ENVIRONMENT, LAB, PAGE, PORT, PYTHON

_LAB = re.compile(r".*\bjupyter lab (/\S+)", re.DOTALL)
_BUSY = 30.0  # seconds that upstream gives a kernel
_SETTINGS = {"ServerApp": {"ip": "localhost"}}
"""The name that upstream's server has in its addresses, by which a task asks for one."""
_STARTED = 120.0  # seconds
_QUIET = 2.0  # seconds
_KERNEL = 'curl -s -m 5 http://127.0.0.1:8888/api/kernels | grep -q \'"execution_state": "idle"\''


def launch(stage: Stage, step: Step) -> None:
    """``launch``: JupyterLab on a folder, or on a notebook in its folder; else as for all tasks."""
    found = _LAB.fullmatch(str(step["command"][-1]))
    if found is None:
        config.launch(stage, step)
        return
    folder, show = (found[1], "") if not found[1].endswith(".ipynb") else posixpath.split(found[1])
    if folder != HOME:
        load_program("jupyterlab").hooks["jupyterlab.open"](stage.setup, folder=folder, show=show)
        return
    stage.machine.guest.launch([PYTHON, LAB, str(PORT), folder, READY], cwd=folder)  # the hook's are below the home
    page = {"title": "*JupyterLab", "role": "panel", "file": READY, "name": "Cells", "timeout": _STARTED}
    load_program("chromium").hooks["chromium.open"](stage.setup, url=f"{PAGE}/tree/{show}", **page)


def await_kernel(scene: Scene, step: Step) -> None:
    """``script_and_execute`` of ``postconfig``: wait until the kernel has run what it was told, as it says."""
    until = time.monotonic() + _BUSY
    while scene.machine.run(["bash", "-c", _KERNEL]).returncode and time.monotonic() < until:
        time.sleep(POLL)


def run_script(scene: Scene, text: str, place: str) -> str:
    """What a script prints in the clean machine, with conda's name of the environment where ours stands."""
    return run_in_clean_machine(scene, text, place).replace(ENVIRONMENT.inside, f"{CONDA}/envs/jupyter")


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """The oracle puts the gold in the place, or does it in JupyterLab; the wrong attempts come near to it."""
    comparison = record.comparisons[0]
    if comparison.metric == "are_jupyter_outputs_cleared":
        return Attempts(
            _menu("Edit", "Clear Outputs of All Cells"), {"of one cell": _menu("Edit", "Clear Cell Output")}
        )
    if comparison.metric == "is_jupyter_cell_executed":
        return Attempts(_menu("Run", "Run All Cells", runs=True), {"one cell": _menu("Run", "Run Selected Cell")})
    if comparison.result.type == "vm_script_output":
        remove = "jupyter kernelspec remove -f {}"
        hidden = run("echo 'jupyter() { echo python3; }' >> ~/.bashrc")
        return Attempts(play(run(remove.format("jupyterlab"))), {"hidden in the shell": play(hidden)})
    if comparison.metric == "is_expected_url_pattern_match":
        notebook = next(step["dest"] for step in record.config if step.parameters.get("dest", "").endswith(".ipynb"))
        return Attempts(
            partial(_serve, f"--port 1036 {notebook}", posixpath.basename(notebook)),
            {
                "at another port": partial(_serve, f"--port 1037 {notebook}", posixpath.basename(notebook)),
                "its folder alone": partial(_serve, f"--port 1036 {posixpath.dirname(notebook)}", "Launcher"),
            },
        )
    gold = comparison.expected and comparison.expected.fields.get("path")
    if not isinstance(gold, Path) or not gold.is_file():
        return Attempts()
    path, content = str(comparison.result.fields["path"]), gold.read_bytes()
    return Attempts(
        play(*put_file(path, content)),
        {
            "the right file in another place": play(*put_file(f"{HOME}/Documents/{gold.name}", content)),
            "without the last part": play(*put_file(path, spoilt(gold))),
        },
    )


def spoilt(gold: Path) -> bytes:
    """A gold file with a part of it missing: a row, the last cell's source and outputs, or all that is drawn."""
    content = gold.read_bytes()
    if gold.suffix == ".csv":
        return content.rstrip().rpartition(b"\n")[0] + b"\n"
    if gold.suffix == ".png":
        return _blank(content)
    book: dict[str, Any] = json.loads(content)
    cell = next(cell for cell in reversed(book["cells"]) if cell["cell_type"] == "code" and cell["source"])
    shown = next((each for each in reversed(book["cells"]) if each.get("outputs")), cell)
    cell["source"], shown["outputs"] = [], []
    return json.dumps(book).encode()


def _blank(content: bytes) -> bytes:
    from PIL import Image

    with Image.open(io.BytesIO(content)) as picture:
        data = io.BytesIO()
        Image.new("RGB", picture.size, "white").save(data, "png")
    return data.getvalue()


def _menu(*path: str, runs: bool = False) -> Play:
    macros = load_program("jupyterlab").macros

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        yield from macros["jupyterlab.run_all"](screen) if runs else macros["jupyterlab.menu"](screen, list(path))
        if runs:
            _await_idle(screen)
        yield from macros["jupyterlab.save"](screen)
        yield [Action("done")]

    return script


def _await_idle(screen: Screen) -> None:
    """Return when the status bar has said for a while that the kernel is idle: it counts cells out of sight too."""
    since, until = None, time.monotonic() + _STARTED
    while since is None or time.monotonic() - since < _QUIET:
        if not screen.find_all(role="static", name="*| Idle"):
            since = None
        else:
            since = since or time.monotonic()
        if time.monotonic() > until:
            raise SetupError(f"the kernel did not end within {_STARTED:g} s")
        time.sleep(POLL)


def _serve(options: str, shows: str, screen: Screen) -> Iterator[BurstOrProgram]:
    """Type into the terminal what starts JupyterLab, and wait for a tab of its page in the browser."""
    screen.find(role="terminal")
    yield [Action("type", text=f"jupyter lab {options}"), Action("press", keys=("enter",))]
    yield from load_program("jupyterlab").macros["jupyterlab.sees"](screen, f"{shows}*", "page tab")
    yield [Action("done")]


APP = App(
    name="jupyter",
    programs=("jupyterlab",),
    needs=Needs(
        layers=(
            app_layer(
                "jupyter",
                {"jupyter": "jupyterlab"},
                {f"{HOME}/.jupyter/jupyter_server_config.json": json.dumps(_SETTINGS).encode()},
            ),
        )
    ),
    config={"launch": launch},
    postconfig={"script_and_execute": await_kernel},
    opens_page=("launch",),
    run_script=run_script,
    may_fail=("unzip sports.zip: ended with 9",),  # a2a9b12c runs the script of 8259543a, without its archive
    keeps=(".local/share/jupyter",),
    attempts=attempts,
)
