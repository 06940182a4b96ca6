"""What is loaded: from the given upstream files, and from files of our own with every kind of item."""

import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from deskgym.envs.errors import TaskError
from deskgym.task_suites.importers import scienceboard
from deskgym.task_suites.importers.scienceboard.check_schema import CHECKS
from deskgym.task_suites.importers.scienceboard.programs import find_program
from deskgym.task_suites.importers.scienceboard.setup_schema import GENERIC, SETUP
from deskgym.task_suites.importers.scienceboard.task import Body, Penalty


def test_every_given_upstream_file_loads(upstream):
    collection = scienceboard.load(upstream)
    assert [str(problem) for problem in collection.problems] == []
    expected = Counter(file.parent.relative_to(upstream / "tasks") for file in upstream.glob("tasks/*/*/*.json"))
    loaded = Counter(Path(task.split) / task.type for task in collection.tasks)
    assert loaded == expected
    assert len(loaded) == 8 and sum(loaded.values()) > 100
    assert len({task.id for task in collection.tasks}) == len(collection)


def test_every_given_item_is_typed(upstream):
    for task in scienceboard.load(upstream, mode="paper").tasks:
        assert task.evaluate and task.initialize
        for item in task.initialize:
            assert item.func in GENERIC | SETUP[task.type] and item.wait >= 0
        if task.sort == "VM":
            assert any(item.func == "launch" and item["program"] for item in task.initialize)


def test_a_reference_may_be_an_object(files, copy_of):
    column = {"name": "COLOR", "sql_type": "CHARACTER"}
    for item in files["VM/GrassGIS/A-01.json"]["evaluate"]:
        pred = "lambda key, value: any([i['name'] == value['name'] for i in key])"
        item.update(key="lambda out: out", value=column, pred=pred)
    found = copy_of(files)["GrassGIS/A-01"].evaluate[0]
    assert found["value"] == column
    assert found["pred"]([column], column) and not found["pred"]([{"name": "X"}], column)


def test_our_own_files_load(files, copy_of):
    collection = copy_of(files)
    assert [str(problem) for problem in collection.problems] == []
    assert [task.id for task in collection.tasks] == [
        "Celestia/A-01",
        "ChimeraX/A-01",
        "GrassGIS/A-01",
        "KAlgebra/A-01",
        "KAlgebra/A-02",
        "Lean/A-01",
        "TeXstudio/A-01",
        "Dual/ChimeraX/A-01",
        "Raw/Lean/A-01",
    ]
    tasks = collection.tasks
    setups = {name.removeprefix("chimerax_") for own in (GENERIC, *SETUP.values()) for name in own}
    assert {item.func.removeprefix("chimerax_") for task in tasks for item in task.initialize} == setups
    checks = {(program, kind) for program, own in CHECKS.items() for kind in own}
    assert {(task.type, item.type) for task in tasks for item in task.evaluate if item.type != "stop"} == checks


def test_kalgebra_items(files, copy_of):
    task = copy_of(files)["KAlgebra/A-01"]
    launch, tab, flat, solid, touch = task.initialize
    assert (launch["program"], launch["arguments"], launch["shell"], launch.wait) == ("kalgebra", (), True, 2.5)
    assert (tab["index"], flat["expr"], solid["expr"]) == (1, "x->x^2", "x^2+y^2=z")
    assert (touch["path"], touch["text"]) == ("/home/user/a.kal", "a := 1")
    curve, count, stop = task.evaluate
    assert curve.points == (((1.0, 1.0), True), ((2.0, 4.0), True), ((-3.0, 5.0), False))
    assert (curve.dimensions, curve.color, curve.resolution, curve.style) == (2, "#00ff00", 500, None)
    assert count.count == 2
    assert stop == task.stop and stop.answer == "two words"
    assert task.difficulty == "easy"


def test_other_items(files, copy_of):
    collection = copy_of(files, now=lambda: datetime(2031, 2, 3))
    number, text, undefined, surface = collection["KAlgebra/A-02"].evaluate
    assert (number.value, text.text, undefined.text) == (1.5, "1+i", None)
    assert (surface.dimensions, surface.style) == (3, 2)

    celestia = collection["Celestia/A-01"]
    assert celestia.query == (Body("Mars", 2), Body("Sol", 1))
    scale, distance = celestia.evaluate
    assert scale["key"]({"time": {"scale": 2.5}}) == 2.5 and "pred" not in scale.values
    assert distance["pred"](4000, 0) and not distance["pred"](5000, 0)

    output, layers = collection["GrassGIS/A-01"].evaluate
    assert (output["cmd"], output["kwargs"]["format"]) == ("v.db.select", "json")
    assert output["pred"](output["key"]({"info": {"columns": [{"name": "WIDTH"}]}}), output["value"])
    assert layers["value"] == ["a", 2]

    states = collection["ChimeraX/A-01"].evaluate
    assert states[0]["key"] == "models.name" and states[1]["key"]("rings.1") and states[1]["value"] is None
    assert states[2]["find"]("a.b._name", "bonds") and states[2]["key"]("a.b._name") == "a.b.count"
    assert states[3]["pattern"].search("[  1.  0. ]")
    assert states[6]["value"]() == "2031-02-03"

    assert collection["Raw/Lean/A-01"].penalty == Penalty(1, 5)
    assert collection["Raw/Lean/A-01"].difficulty is None
    assert collection["Dual/ChimeraX/A-01"].initialize[-1].func == "destroy"
    assert isinstance(collection["TeXstudio/A-01"].evaluate[2]["pattern"], re.Pattern)


def test_tasks_folder_and_stray_files(files, copy_of, tmp_path):
    stray = tmp_path / "tasks/Raw/requirements.test.txt"
    stray.parent.mkdir(parents=True)
    stray.write_text("lean")
    collection = copy_of(files)
    assert collection.skipped == (stray,) and not collection.problems
    assert scienceboard.load(tmp_path / "tasks").tasks == collection.tasks


def test_lookup(files, copy_of):
    files["VM/KAlgebra/A-02.json"]["steps"] = 0
    collection = copy_of(files)
    assert [task.id for task in collection.select("*ChimeraX/*")] == ["ChimeraX/A-01", "Dual/ChimeraX/A-01"]
    with pytest.raises(TaskError, match="did you mean 'KAlgebra/A-01'"):
        collection["KAlgebra/A-1"]
    with pytest.raises(TaskError, match="'KAlgebra/A-02' has mistakes:\nVM/KAlgebra/A-02.json:4: steps: must be at"):
        collection["KAlgebra/A-02"]


@pytest.mark.parametrize("make", ["missing", "file", "empty", "no tasks", "inside"])
def test_wrong_folders(tmp_path, make):
    folder = tmp_path / "x"
    if make == "file":
        folder.write_text("")
    elif make == "empty":
        folder.mkdir()
    elif make == "no tasks":
        (folder / "VM/KAlgebra").mkdir(parents=True)
    elif make == "inside":
        (folder / "KAlgebra").mkdir(parents=True)
    with pytest.raises(TaskError, match="which has VM/, Dual/ and Raw/") as caught:
        scienceboard.load(folder)
    assert str(folder) in str(caught.value)


def test_unknown_mode(files, copy_of):
    with pytest.raises(TaskError, match="mode must be 'paper' or 'corrected', is 'fixed'"):
        copy_of(files, mode="fixed")


def test_status(files, copy_of):
    collection = copy_of(files)
    kinds = {
        task.id: {blocker.kind for blocker in scienceboard.blockers(task, lambda _: "/usr/bin/x")}
        for task in collection.tasks
    }
    assert kinds == {
        "KAlgebra/A-01": set(),
        "KAlgebra/A-02": set(),
        "Celestia/A-01": set(),
        "GrassGIS/A-01": {"image_data"},
        "ChimeraX/A-01": {"network"},
        "Lean/A-01": {"not_supported"},
        "TeXstudio/A-01": set(),
        "Dual/ChimeraX/A-01": {"network"},
        "Raw/Lean/A-01": {"not_installed"},
    }
    (blocker,) = scienceboard.blockers(collection["KAlgebra/A-01"], lambda _: None)
    assert blocker.kind == "not_installed" and "apt install kalgebra" in blocker.reason
    supported, reason = scienceboard.status(collection["GrassGIS/A-01"])
    assert not supported and "mars, moon" in reason


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("LD_LIBRARY_PATH=/a/b /app/bin/kalgebra «PORTLIKE»", ("kalgebra", ())),
        (("chimerax", "--cmd", "x"), ("chimerax", ("--cmd", "x"))),
        ('gnome-terminal -- /bin/bash -ic "FLASK_PORT=8 grass --gui /d/l/m"', ("grass", ("--gui", "/d/l/m"))),
        ("code /home/user/sci", ("code", ("/home/user/sci",))),
        ("rm -rf /", None),
        ("kalgebra 'unclosed", None),
        ("A=1", None),
        ("", None),
    ],
)
def test_launch_commands_are_mapped_not_run(command, expected):
    assert find_program(command) == expected
