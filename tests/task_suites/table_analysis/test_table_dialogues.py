"""Our own dialogues: all can be drawn, they cover what the paper's do, and their references run."""

from collections import Counter

import pytest

from deskgym.task_suites.table_analysis.check_turns import Report, check_file
from deskgym.task_suites.table_analysis.sampling import places, sample_turn
from deskgym.task_suites.table_analysis.suite import TableAnalysisSuite
from deskgym.task_suites.table_analysis.turns import CHOICE_ACTIONS, CODE_ACTIONS, CODE_RESULTS, MODES

SUITE = TableAnalysisSuite()


def test_they_cover_every_mode_action_and_result_type():
    found = Counter(
        (place.mode, place.action, kind)
        for file in SUITE.files.values()
        for place in places(file).values()
        for kind in ({"choice"} if place.action in CHOICE_ACTIONS else file.turns[place.turn].result.values())
    )
    for mode in MODES:
        actions = ("",) if not mode.endswith("action") else CODE_ACTIONS
        for action in actions:
            assert all(found[mode, action, kind] for kind in CODE_RESULTS), (mode, action, found)
        for action in CHOICE_ACTIONS if mode.endswith("action") else ():
            assert found[mode, action, "choice"]
    assert len(SUITE.ids()) >= 80 and len({file.domain for file in SUITE.files.values()}) >= 6
    assert any(len(turn.result) > 1 for file in SUITE.files.values() for turn in file.turns)


@pytest.mark.parametrize("dialogue", SUITE.dialogue_ids())
def test_every_task_can_be_drawn(dialogue: str):
    file = SUITE.files[dialogue]
    assert sorted(file.splits) == ["test", "train"]
    for task_id, place in places(file).items():
        turn = sample_turn(file, SUITE.domains[file.domain], task_id, place, 1)
        assert turn.query and (turn.choice or (turn.code and turn.intents))
        assert len(turn.history) >= place.turn


@pytest.mark.slow
@pytest.mark.parametrize("dialogue", SUITE.dialogue_ids())
def test_references_are_right_and_wrong_codes_wrong(dialogue: str, sampled):
    if dialogue not in sampled(SUITE.dialogue_ids()):
        pytest.skip("not in this run's sample")
    report = Report()
    file = SUITE.files[dialogue]
    check_file(file, SUITE.domains[file.domain], 3, report)
    assert report.problems == []
