"""The references that are known to be wrong, in both modes."""

import math

import pytest

from deskgym.task_suites.importers import scienceboard
from deskgym.task_suites.importers.scienceboard.check_items import Plotted


def slope_of_log(x):
    return 2 * x / (x * x + 1) + 2 * x - 1


def lemniscate(x):
    return x, math.sqrt(math.sqrt(256 + 64 * x * x) - x * x - 16)


# What is wrong upstream, and a residual that is 0 on what the instruction asks for.
CASES = {
    "C-07": ([(x, slope_of_log(x)) for x in (-11, 0, 2)], lambda x, y: 1 / (x + 1) + 2 * x - 1 - y),
    "C-12": (
        [lemniscate(x) for x in (-4, 2, 3)],
        lambda x, y: math.dist((x, y), (1, 0)) * math.dist((x, y), (-1, 0)) - 16,
    ),
    "C-14": ([(2, 2, 0), (0, -2, 2), (0, 0, math.sqrt(8))], lambda x, y, z: math.hypot(x, y, z) - math.sqrt(2)),
}


def with_reference(files, name, points):
    """Our KAlgebra task under the name of a known-bad one, with a reference curve through the points."""
    data = files["VM/KAlgebra/A-01.json"]
    far = [100.0] * len(points[0])
    expected = {str(tuple(point)): True for point in points} | {str(tuple(far)): False}
    data["evaluate"][0] = {"type": "eqn", "key": [*map(list, points), far], "value": expected}
    return {f"VM/KAlgebra/{name}.json": data}


@pytest.mark.parametrize("name", CASES)
def test_corrected_mode_replaces_the_points(files, copy_of, name):
    wrong, residual = CASES[name]
    task = copy_of(with_reference(files, name, wrong))[f"KAlgebra/{name}"]
    (note,) = task.notes
    assert note.startswith("reference corrected: upstream's points belong to")
    assert note.endswith(f"it is now {task.ans}")
    on = [point for point, expected in task.evaluate[0].points if expected]
    off = [point for point, expected in task.evaluate[0].points if not expected]
    assert len(on) == len(off) == 6 == len(set(on)) == len(set(off))
    assert all(abs(residual(*point)) < 1e-9 for point in on)
    assert all(abs(residual(*point)) > 0.2 for point in off)
    assert len(task.evaluate) == 3, "the other checks stay"


@pytest.mark.parametrize("name", CASES)
def test_paper_mode_keeps_the_points(files, copy_of, name):
    wrong, _ = CASES[name]
    task = copy_of(with_reference(files, name, wrong), mode="paper")[f"KAlgebra/{name}"]
    assert [point for point, expected in task.evaluate[0].points if expected] == [tuple(p) for p in wrong]
    (note,) = task.notes
    assert note.startswith("reference known to be wrong: ")


@pytest.mark.parametrize("mode", ["paper", "corrected"])
def test_a_mended_copy_keeps_its_own_reference(files, copy_of, mode):
    mended = [(0.0, 0.0), (1.0, 1.5)]
    task = copy_of(with_reference(files, "C-07", mended), mode=mode)["KAlgebra/C-07"]
    assert task.evaluate[0].points[:2] == tuple((point, True) for point in mended)
    assert "is not the one known to be wrong" in task.notes[0]


def test_a_reference_of_the_function_itself_is_corrected_too(files, copy_of):
    points = [(x, math.log(x * x + 1) + x * x - x) for x in (-11.0, 2.0, 5.0)]
    task = copy_of(with_reference(files, "C-07", points))["KAlgebra/C-07"]
    assert task.ans == "x->ln(x+1)+x^2-x"
    for point, expected in task.evaluate[0].points:
        assert (abs(math.log(point[0] + 1) + point[0] ** 2 - point[0] - point[1]) < 1e-9) is expected


def test_notes_of_weak_checks_and_open_problems(files, copy_of):
    lean = files["Raw/Lean/A-01.json"]
    lean["instruction"] = "def OP_2 : Decidable (1 = 1) := by sorry"
    collection = copy_of({"VM/TeXstudio/C-06.json": files["VM/TeXstudio/A-01.json"], "Raw/Lean/E-02.json": lean})
    assert "deleting the formula passes" in collection["TeXstudio/C-06"].notes[0]
    assert "open problem" in collection["Raw/Lean/E-02"].notes[0]


def test_upstreams_own_files(upstream):
    corrected = scienceboard.load(upstream)
    paper = scienceboard.load(upstream, mode="paper")
    known = {task.id for task in corrected.tasks} & {f"KAlgebra/{name}" for name in CASES}
    assert known, "none of the known-bad files is among the given ones"
    for task_id in known:
        assert corrected[task_id].notes[0].startswith("reference corrected: ")
        assert paper[task_id].notes[0].startswith("reference known to be wrong: ")
        assert isinstance(corrected[task_id].evaluate[0], Plotted)
    for task in corrected.tasks:
        if task.id not in known:
            assert task.evaluate == paper[task.id].evaluate
