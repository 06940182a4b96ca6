"""What an agent breaks while its results are read and compared is wrong, never an error that nobody counts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tapilot_fixtures as fixtures

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestLost
from deskgym.task_suites import load_suite
from deskgym.task_suites.importers.tapilot import conversation
from deskgym.task_suites.importers.tapilot.judging import Judge, Reference

REFERENCE = Reference({"mean_height.pkl": b"1"}, {0: 1})


def lost(*arguments: Any, **options: Any) -> Any:
    raise GuestLost("it is gone")


@pytest.fixture
def task(tmp_path: Path) -> Any:
    root = fixtures.write_lines(tmp_path)
    return load_suite("table_analysis", source="tapilot", source_path=str(root)).get("normal/4")


def test_results_that_end_the_machine_in_which_they_are_compared_are_wrong(task: Any) -> None:
    kernel: Any = SimpleNamespace(open=lost)
    judge = Judge(kernel, task.turn, {}, (), "corrected")
    assert judge.verdicts(REFERENCE, {"mean_height.pkl": b"2"}) == [(False, "it could not be compared: it is gone")]


@pytest.mark.parametrize("alive", [True, False])
def test_a_kernel_that_answers_nonsense_is_the_agents_and_a_lost_machine_is_not(
    task: Any, alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "finished", lost)
    task.references[task.turn.id] = REFERENCE
    talk = task.begin("rules", 1)
    talk._executed.append("x = 1")
    machine: Any = SimpleNamespace(alive=alive, guest=None)
    talk.submit(FinalState(machine, "done", clean_machine=lambda plugins: machine))
    (outcome,) = talk.outcomes
    assert bool(outcome.error) is not alive and not any(intent.correct for intent in outcome.intents)
