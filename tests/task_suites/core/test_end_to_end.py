"""A task file from its setup to its verdict, on a fake machine: oracle 1, doing nothing 0, wrong attempts 0."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deskgym.envs.episode import Bursts, FinalState
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.observation.screen import Screen
from deskgym.task_suites.core.suite import TaskSuite
from deskgym.task_suites.core.task import Task

TASK = """\
id: fake/note
title: A note
instruction: Write the sum of {a} and {b} and press the button {times} times.
difficulty: easy
params:
  a: {integer: [1, 99]}
  b: {integer: [1, 99]}
  times: {choice: [1, 2]}
  gold: {formula: a + b}
where:
  - formula: a != b
setup:
  - write: {path: /home/user/start, text: "{a}"}
  - wait_for_element: {role: text, name: Note}
checks:
  - state: {read: fake.display, at: text, that: {equals: "{gold:d}"}}
  - state: {read: fake.display, at: presses, that: {equals: "{times}"}}
  - file.text: {path: /home/user/start, that: {equals: "{a:d}"}}
oracle:
  - click: {role: text}
  - type: "{gold}"
  - fake.press: {times: "{times}"}
  - done:
wrong:
  difference:
    - click: Note
    - type: "{a}-{b}"
    - fake.press: {times: "{times}"}
    - done:
  gives up with the right state:
    - click: Note
    - type: "{gold}"
    - fake.press: {times: "{times}"}
    - fail:
"""


def read_display(machine: FakeMachine) -> dict[str, object]:
    return {"text": machine.fake_display.text, "presses": machine.fake_display.presses}


def press_button(screen: Screen, times: int = 1) -> Bursts:
    from deskgym.envs.action.actions import Action

    for k in range(times):
        yield [Action("click", *screen.find(role="push button", name=f"Pressed {k}").center)]


@pytest.fixture
def suite(tmp_path: Path) -> TaskSuite:
    (tmp_path / "note.yaml").write_text(TASK)
    return TaskSuite("fake", tmp_path, macros={"fake.press": press_button}, readers={"fake.display": read_display})


def run(task: Task, script: Iterator | None = None) -> Verdict:
    """Play a script, or do nothing, as an environment does."""
    with FakeMachine() as machine:
        task.prepare(machine)
        screen = Screen(machine)
        final = FinalState(machine, "limit", task_id=task.id)
        for burst in script(screen) if script else ():  # type: ignore[operator]
            for action in burst:
                machine.display.perform(action.check(screen.size).events())
                if action.verb in ("done", "fail", "answer"):
                    final.stop = action.verb  # type: ignore[assignment]
        return task.evaluate(final)


@pytest.mark.parametrize("seed", range(5))
def test_oracle_nothing_and_wrong_attempts(suite: TaskSuite, seed: int) -> None:
    task = suite.get("fake/note", seed)
    assert run(task, task.oracle).success, run(task, task.oracle)
    assert run(task).score == 0
    assert len(task.wrong_attempts) == 2
    for name, script in task.wrong_attempts.items():
        verdict = run(task, script)
        assert (verdict.score, verdict.error) == (0.0, None), name


def test_the_verdict_says_what_was_found(suite: TaskSuite) -> None:
    verdict = run(suite.get("fake/note", 3)).to_dict()
    assert [check["name"] for check in verdict["checks"]] == ["stop", "state", "state", "file.text"]
    assert "fake.display at text is ''; right is" in verdict["checks"][1]["message"]
    assert verdict["partial"] == pytest.approx(1 / 3)
