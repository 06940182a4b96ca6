"""Mutants of oracles: what is changed, and what is not worth changing."""

import pytest

from deskgym.envs.errors import SetupError
from deskgym.task_suites.core.suite import TaskSuite

TASK = """\
id: notes/two
title: Two numbers
instruction: Type {a} and {b}.
difficulty: easy
params:
  a: {integer: [1, 50]}
  b: {integer: [51, 99]}
  both: {text: "{a} and {b}"}
  same: {choice: [always]}
checks:
  - file.text: {path: /home/user/note, that: {equals: "{both}"}}
oracle:
  - type: "{a}"
  - press: ctrl+s
  - type: "{b} {same}"
  - done:
wrong:
  nothing:
    - done:
"""


@pytest.fixture
def mutants(tmp_path):
    """The actions of every mutant's bursts, of a task file's text."""

    def of(text=TASK, screen=None):
        (tmp_path / "task.yaml").write_text(text)
        suite = TaskSuite("notes", tmp_path)
        task = suite.get("notes/two", 7)
        found = suite.mutants(task)
        return {name: [action for burst in script(screen) for action in burst] for name, script in found.items()}, task

    return of


def test_each_step_is_dropped_but_the_last_word(mutants):
    found, task = mutants()
    assert [name for name in found if name.startswith("drop")] == ["drop 1", "drop 2", "drop 3"]
    assert [action.verb for action in found["drop 2"]] == ["type", "type", "done"]
    assert found["drop 1"][0].verb == "press"


def test_parameters_that_the_oracle_names_are_changed_one_by_one(mutants):
    found, task = mutants()
    assert [name for name in found if name.startswith("other")] == ["other a", "other b"]  # "same" has no other value
    first, _, second, _ = found["other a"]
    assert first.text != str(task.params["a"]) and second.text == f"{task.params['b']} always"


def test_an_answer_at_the_end_is_a_step(mutants):
    found, _ = mutants(
        TASK.replace("  - done:\nwrong", "  - answer: x\nwrong").replace("checks:", "end: answer\nchecks:")
    )
    assert [action.verb for action in found["drop 4"]] == ["type", "press", "type"]


def test_one_that_does_not_find_its_element_stops_there(mutants):
    class Empty:
        def find(self, **looked_for):
            raise SetupError("no element came")

    found, _ = mutants(TASK.replace("  - press: ctrl+s", "  - click: Save"), Empty())
    assert [action.verb for action in found["drop 1"]] == []
    assert [action.verb for action in found["drop 3"]] == ["type"]
