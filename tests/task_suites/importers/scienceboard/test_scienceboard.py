"""ScienceBoard's tasks as deskgym runs them: the source, oracles, and the real programs."""

import json
import pickle
import shutil
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scienceboard_files import (
    CURVE,
    DOCUMENTS,
    GIVEN,
    MAPS,
    MOLECULES,
    SPHERE,
    UPSTREAM,
    file_of,
    given,
    installed,
    looks,
)

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents.loading import make_agent
from deskgym.agents.rollout import rollout
from deskgym.cli.main import main
from deskgym.envs.action.actions import Action
from deskgym.envs.episode import TaskSource
from deskgym.envs.errors import SetupError, TaskError
from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify.attempts import attempts_of
from deskgym.task_suites.importers.scienceboard.oracles import _off
from deskgym.task_suites.importers.scienceboard.suite import suite


def moves(script: Any) -> list[Any]:
    """The moves of a script, by name and arguments, and how it ends."""
    steps, end = script.args
    named = [(getattr(m, "func", m).__name__, *getattr(m, "keywords", {}).values()) for m in steps]
    return [*named, (end.verb, end.text) if end.text else (end.verb,)]


# The source


@given
def test_the_published_tasks_are_listed_whether_they_run_here_or_not():
    tasks = suite(str(UPSTREAM), "corrected")
    assert isinstance(tasks, TaskSource)
    assert set(GIVEN) < set(tasks.ids()) and len(tasks.ids()) > 100
    assert {"Dual/ChimeraX/A-01", "Raw/Lean/A-01"} & set(tasks.ids())
    lean = next(task for task in tasks.ids() if task.startswith("Lean/"))
    assert tasks.describe(lean)["supported"] is False
    assert "Lean is not yet supported" in tasks.describe(lean)["reason"]
    with pytest.raises(TaskError, match=r"cannot run here: Lean is not yet supported"):
        tasks.get(lean)
    with pytest.raises(TaskError, match=r"none of the \d+ tasks that match 'Lean/\*' can run here"):
        tasks.draw(np.random.default_rng(0), "Lean/*")


@installed
@given
def test_what_cannot_run_is_never_drawn():
    tasks, rng = suite(str(UPSTREAM), "corrected"), np.random.default_rng(5)
    drawn = {tasks.draw(rng).id for _ in range(300)}
    here = {*GIVEN, *DOCUMENTS, *MOLECULES, *MAPS}
    assert drawn == here
    assert {tasks.draw(rng, "*/C-0*").id for _ in range(200)} == {task for task in here if "C-0" in task}
    assert tasks.draw(rng, "KAlgebra/B-01").id == "KAlgebra/B-01"


@installed
@given
@pytest.mark.parametrize("task_id", GIVEN)
def test_every_given_task_has_all_that_a_task_needs(task_id):
    task = suite(str(UPSTREAM), "corrected").get(task_id)
    data = json.loads((UPSTREAM / f"tasks/VM/{task_id}.json").read_text())
    assert (task.id, task.instruction, task.max_steps) == (task_id, data["instruction"], data["steps"])
    assert task.difficulty == {5: "easy", 10: "medium"}[data["steps"]]
    assert task.source == "ScienceBoard (MIT)"
    assert [hook.name for hook in task.hooks].count("launch") == 1
    assert "gives up" in task.wrong_attempts and len(task.wrong_attempts) > 1
    assert task.feasible and (task.evaluator.end == "answer") == ("ANS" in data["ans"])
    assert bool(task.evaluator.notes) == task_id.endswith("C-12")


def test_asking_for_what_is_not_there(source):
    tasks = source(KAlgebra_B_01=file_of(CURVE))
    rng = np.random.default_rng(0)
    with pytest.raises(TaskError, match=r"did you mean 'KAlgebra/B-01'"):
        tasks.draw(rng, "KAlgebra/B-O1")
    with pytest.raises(TaskError, match="unknown task 'Kalgebra/"):
        tasks.draw(rng, "Kalgebra/*x*")
    with pytest.raises(TaskError, match="not divided into train and test"):
        tasks.draw(rng, None, "train")
    with pytest.raises(TaskError, match="not divided"):
        tasks.ids("test")
    with pytest.raises(TaskError, match="only one instance"):
        tasks.get("KAlgebra/B-01#3")


def test_a_wrong_folder_is_an_error_at_once(tmp_path):
    with pytest.raises(TaskError, match="is not there: give ScienceBoard's repository"):
        load_suite("science", source="scienceboard", source_path=str(tmp_path / "nowhere"))
    with pytest.raises(TaskError, match="has none of VM, Dual, Raw"):
        load_suite("science", source="scienceboard", source_path=str(tmp_path))


def test_a_file_with_mistakes_is_listed_with_them_and_hides_no_other(source):
    tasks = source(KAlgebra_A_01=file_of(CURVE, extra=1), KAlgebra_A_02=file_of(CURVE))
    with pytest.warns(UserWarning, match=r"1 of ScienceBoard's tasks .* VM/KAlgebra/A-01.json:\d+: extra"):
        assert tasks.ids() == ["KAlgebra/A-02", "KAlgebra/A-01"]
    row = tasks.describe("KAlgebra/A-01")
    assert row["supported"] is False and "extra" in row["reason"]
    with pytest.raises(TaskError, match="has mistakes:\nVM/KAlgebra/A-01.json"):
        tasks.get("KAlgebra/A-01")


def test_a_pickle_holds_the_path_only(source):
    tasks = source(KAlgebra_A_01=file_of(CURVE))
    tasks.ids()
    copy = pickle.loads(pickle.dumps(tasks))
    assert copy._collection is None and copy.ids() == tasks.ids()


def test_the_command_line_says_what_runs_and_why_not(source, tmp_path, capsys):
    source(KAlgebra_A_01=file_of(CURVE, ans="N/A"), KAlgebra_A_02=file_of(looks(CURVE, res=500), ans="x->x^2"))
    assert main(["tasks", "science", "--source", "scienceboard", "--path", str(tmp_path), "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["tasks"]}
    assert rows["KAlgebra/A-01"]["oracle"] is False and rows["KAlgebra/A-02"]["oracle"] is True
    assert rows["KAlgebra/A-02"]["supported"] is False
    assert "it checks the resolution 500; KAlgebra has [416, 832, 1664, 3328]" in rows["KAlgebra/A-02"]["reason"]
    assert main(["verify", "science", "--source", "scienceboard", "--path", str(tmp_path), "--check"]) == 1
    assert "ScienceBoard's tasks have no ledger; leave out --check" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        ([{"func": "execute", "command": "ls"}], "does not do 'execute' in KAlgebra's setup"),
        ([{"func": "func_3d", "expr": "x*y"}] * 2, "more than one surface"),
    ],
)
def test_setups_that_cannot_be_done(source, setup, reason):
    assert reason in source(KAlgebra_A_01=file_of(CURVE, setup=setup)).describe("KAlgebra/A-01")["reason"]


# Oracles


def touch(path: str) -> dict[str, Any]:
    return {"func": "touch", "path": path, "text": "r := 1"}


PLANE = {"func": "func_2d", "expr": "x->x^2"}
ORACLES = {
    "answer": (file_of({"type": "stop", "value": "ANS", "args": ["42"]}, ans="ANS 42"), [("answer", "42")]),
    "infeasible": (file_of({"type": "stop", "value": "FAIL"}, ans="FAIL"), [("fail",)]),
    "calculator": (
        file_of({"type": "val", "key": "p", "value": 1}, ans="p := 3-2"), [("evaluate", "p := 3-2"), ("done",)],
    ),
    "curves": (
        file_of(CURVE, CURVE, ans="x->x^2; x->x-1"),
        [("add_function", "x->x^2"), ("add_function", "x->x-1"), ("done",)],
    ),
    "surface": (file_of(SPHERE, ans="x^2+y^2+z^2=4"), [("surface", "x^2+y^2+z^2=4"), ("done",)]),
    "script": (
        file_of(CURVE, setup=[touch("/home/user/s.kal")], ans="Ctrl+L: ~/s.kal; x->r(x)"),
        [("load_script", "/home/user/s.kal"), ("add_function", "x->r(x)"), ("done",)],
    ),
    "script of several lines": (
        file_of({"type": "val", "key": "p", "value": 2}, setup=[touch("/home/user/s.kal")],
                ans="Ctrl+L: ~/s.kal\nq := r+1\np := q; q := 0"),
        [("load_script", "/home/user/s.kal"), ("evaluate", "q := r+1"), ("evaluate", "p := q"),
         ("evaluate", "q := 0"), ("done",)],
    ),
    "colour": (
        file_of(looks(CURVE, color="#000000"), setup=[PLANE], ans="N/A"), [("color", "black", 0), ("done",)],
    ),
    "resolution": (
        file_of(looks(CURVE, res=3328), setup=[PLANE], ans="N/A"), [("menu", "2D Graph", "Very Fine"), ("done",)],
    ),
    "style": (file_of(looks(SPHERE, style=2), ans="N/A"), [("menu", "3D Graph", "Lines"), ("done",)]),
    "variable away": (
        file_of({"type": "var", "key": "k", "value": "#UNDEF"}, ans="N/A"), [("remove_variable", "k"), ("done",)],
    ),
    "curves away": (
        file_of({"type": "eqn", "key": "#SIZE", "value": 1}, setup=[PLANE, PLANE], ans="N/A"),
        [("remove_function",), ("done",)],
    ),
}  # fmt: skip


@installed
@pytest.mark.parametrize("kind", ORACLES)
def test_the_oracle_follows_from_the_file(source, kind):
    data, expected = ORACLES[kind]
    task = source(KAlgebra_A_01=data).get("KAlgebra/A-01")
    assert moves(task.solve) == expected
    assert task.wrong_attempts
    assert all(moves(attempt) != expected for attempt in task.wrong_attempts.values())
    assert task.feasible == (kind != "infeasible")


@installed
@pytest.mark.parametrize("changes", [{}, {"ans": "N/A"}, {"ans": "p := 1; x->x; x->2*x"}])
def test_a_file_that_does_not_say_how_it_is_solved_has_no_oracle(source, changes):
    task = source(KAlgebra_A_01=file_of(CURVE, **changes)).get("KAlgebra/A-01")
    with pytest.raises(SetupError, match="KAlgebra/A-01: there is no oracle"):
        next(task.oracle(None))


@pytest.mark.parametrize(
    ("part", "off"),
    [
        ("p := 3*2", "p :=(3*2)+1"),
        ("x->x^2", "x->(x^2)+1"),
        ("(x, y) -> x*y", "(x, y) ->(x*y)+1"),
        ("x->piecewise{x<=0 ? 1, ? 2}", "x->(piecewise{x<=0 ? 1, ? 2})+1"),
        ("x=(y+2)*ln(y)", "x=((y+2)*ln(y))+1"),
        ("x^2", "(x^2)+1"),
    ],
)
def test_a_shifted_expression(part, off):
    assert _off(part) == off


@installed
def test_a_script_ends_with_a_word_of_the_agents(source):
    task = source(KAlgebra_A_01=file_of({"type": "stop", "value": "FAIL"})).get("KAlgebra/A-01")
    assert list(task.oracle(None)) == [[Action("fail")]]
    assert [list(attempt(None)) for attempt in task.wrong_attempts.values()] == [[[Action("done")]]]


# The real program


def problems(task_ids: list[str], action: str, mode: str = "corrected", of: str = "KAlgebra") -> list[str]:
    """What is not as it must be, when the oracle, nothing and every wrong attempt are played."""
    env = gym.make(
        "deskgym/Science-v0",
        source="scienceboard",
        source_path=str(UPSTREAM),
        mode=mode,
        task=f"{of}/*",
        action=action,
        screen_size=(1280, 720),
        disable_env_checker=True,
    )
    found = []
    try:
        for task_id in task_ids:
            wrong = list(env.unwrapped.episodes.suite.get(task_id).wrong_attempts)  # type: ignore[attr-defined]
            for attempt in attempts_of(task_id, wrong):
                result = rollout(env, make_agent(attempt.agent), seed=3, options={"task": task_id})
                if (result.outcome, result.score) not in (("solved", 1.0), ("failed", 0.0)) or (
                    result.score != attempt.expected
                ):
                    found.append(f"{task_id} {attempt.agent}: {result.outcome} {result.score} {result.message}")
    finally:
        env.close()
    return found


@installed
@given
@pytest.mark.sandbox
def test_a_task_on_the_real_program():
    assert problems(["KAlgebra/B-01"], "computer") == []


@installed
@given
@pytest.mark.sandbox
@pytest.mark.slow
def test_tasks_on_the_real_program_by_mouse_and_keyboard():
    assert problems(["KAlgebra/B-06", "KAlgebra/C-13", "KAlgebra/D-03"], "computer") == []


@installed
@given
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["corrected", "paper"])
def test_given_tasks_on_the_real_program(mode, sampled):
    assert problems(sampled(GIVEN), "code", mode) == []


@installed
@given
@pytest.mark.sandbox
@pytest.mark.slow
def test_given_documents_in_the_real_texstudio():
    assert problems(DOCUMENTS, "code", of="TeXstudio") == []


@pytest.mark.sandbox
@installed
@given
def test_questions_about_molecules_are_asked_beside_pymol():
    assert problems(MOLECULES, "code", of="ChimeraX") == []


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(900)  # some thirty episodes of GRASS, ten seconds each
@installed
@given
def test_how_a_map_is_shown_is_asked_on_maps_of_our_own():
    assert problems(MAPS, "computer", of="GrassGIS") == []


@given
def test_a_copy_without_its_molecules_says_which_are_missing(tmp_path):
    shutil.copytree(UPSTREAM / "tasks", tmp_path / "tasks")
    described = suite(str(tmp_path), "corrected").describe(MOLECULES[0])
    assert described["supported"] is False
    assert "the molecule 2olx.cif is not in your copy of ScienceBoard" in described["reason"]
