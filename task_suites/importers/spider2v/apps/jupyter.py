"""Notebooks: tasks in JupyterLab, whose tool environment has conda's name ``jupyter``."""

from __future__ import annotations

import io
import json
import posixpath
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.envs.needs import Needs
from deskgym.task_suites.hooks.waits import POLL
from deskgym.task_suites.importers.spider2v import config
from deskgym.task_suites.importers.spider2v.attempts import play, put_file, run
from deskgym.task_suites.importers.spider2v.frame import App, Attempts, Play, Scene, Stage
from deskgym.task_suites.importers.spider2v.layout import HOME, app_layer
from deskgym.task_suites.importers.spider2v.record import Mode, Step, UpstreamTask
from deskgym.task_suites.programs import load_program

_LAB = re.compile(r".*\bjupyter lab (/\S+)", re.DOTALL)
_DOWNLOADS = {"fetch_california_housing": "California housing", "gutenberg": "texts of Project Gutenberg"}
_BUSY = 30.0  # seconds that upstream gives a kernel
_KERNEL = 'curl -s -m 5 http://127.0.0.1:8888/api/kernels | grep -q \'"execution_state": "idle"\''


def launch(stage: Stage, step: Step) -> None:
    """``launch``: JupyterLab on a folder, or on a notebook in its folder; else as for all tasks."""
    found = _LAB.fullmatch(str(step["command"][-1]))
    if found is None:
        config.launch(stage, step)
        return
    folder, show = (found[1], "") if not found[1].endswith(".ipynb") else posixpath.split(found[1])
    load_program("jupyterlab").hooks["jupyterlab.open"](stage.setup, folder=folder, show=show)


def await_kernel(scene: Scene, step: Step) -> None:
    """``script_and_execute`` of ``postconfig``: wait until the kernel has run what it was told, as it says."""
    until = time.monotonic() + _BUSY
    while scene.machine.run(["bash", "-c", _KERNEL]).returncode and time.monotonic() < until:
        time.sleep(POLL)


def lacks(record: UpstreamTask) -> Iterable[str]:
    """Notebooks that download what no package ships."""
    for step in record.config:
        source = step.parameters.get("src")
        if isinstance(source, Path) and source.suffix == ".ipynb" and source.is_file():
            text = source.read_text()
            yield from (f"its notebook downloads {what}" for word, what in _DOWNLOADS.items() if word in text)


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
        yield from macros["jupyterlab.save"](screen)
        yield [Action("done")]

    return script


APP = App(
    name="jupyter",
    programs=("jupyterlab",),
    needs=Needs(layers=(app_layer("jupyter", {"jupyter": "jupyterlab"}),)),
    config={"launch": launch},
    postconfig={"script_and_execute": await_kernel},
    opens_page=("launch",),
    keeps=(".local/share/jupyter",),
    lacks=lacks,
    attempts=attempts,
)
