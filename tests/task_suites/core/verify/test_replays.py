"""Which tasks are played again when code has changed."""

from dataclasses import replace

import pytest

from deskgym.task_suites.core.verify.inputs import ProofInputs
from deskgym.task_suites.core.verify.ledger import Proof
from deskgym.task_suites.core.verify.replays import USERS, Candidate, plan_replays, this_turn

PROOF = Proof("file", "made", "old", "", "platform", 1.0, 0.0, wrong=2, resets=1, seed=0, date="2026-01-01",
              deskgym="0.1.0", steps=5, seconds=10.0)  # fmt: skip


class Inputs(ProofInputs):
    """Inputs whose digests are given."""

    def __init__(self, symbols, programs):
        self.__dict__.update(
            file="file", result="made", code=" ".join(sorted(symbols)), symbols=symbols, programs=programs, drawing="",
            drawn="",
        )  # fmt: skip


def candidate(task, symbols, known="", program="p", **more):
    proof = replace(PROOF, symbols=known, **more)
    inputs = Inputs(symbols, (program,))
    if set(symbols) <= {known[k : k + 4] for k in range(0, len(known), 4)}:
        proof = replace(proof, code=inputs.code)
    return Candidate(("s", "", ""), task, proof, inputs)


def planned(candidates, platform="platform", shares=0, turn=0, seconds=1e9):
    return plan_replays(candidates, platform, shares=shares, turn=turn, seconds=seconds)


def tasks(plan):
    return [replay.candidate.task for replay in plan.replays]


def test_nothing_is_played_where_nothing_has_changed():
    plan = planned([candidate(f"t{k}", {"aaaa": "m:f"}, "aaaa") for k in range(5)])
    assert (tasks(plan), plan.stale, plan.changed) == ([], 0, {})


def test_at_most_ten_users_of_a_symbol_are_played_of_all_programs():
    users = [candidate(f"t{k}", {"new1": "m:f"}, "old1", program=f"p{k % 12}") for k in range(60)]
    plan = planned(users)
    assert len(tasks(plan)) == USERS and plan.stale == 60 and plan.changed == {"m:f": 60}
    assert len({replay.candidate.programs for replay in plan.replays}) == USERS


def test_one_task_serves_several_symbols():
    both = {"new1": "m:f", "new2": "m:g"}
    plan = planned([candidate(f"t{k}", both, "old1old2") for k in range(30)])
    assert len(tasks(plan)) == USERS


def test_a_symbol_that_tasks_were_played_with_since_is_seen():
    fresh = [candidate(f"f{k}", {"new1": "m:f"}, "new1") for k in range(USERS - 3)]
    stale = [candidate(f"s{k}", {"new1": "m:f"}, "old1") for k in range(20)]
    plan = planned(fresh + stale)
    assert len(tasks(plan)) == 3 and plan.stale == 20 and plan.unseen == []


def test_the_quick_ones_are_played_and_those_that_hardly_act_last():
    users = [
        candidate("slow", {"new1": "m:f"}, seconds=50.0), candidate("quick", {"new1": "m:f"}, seconds=5.0),
        candidate("answer", {"new1": "m:f"}, seconds=1.0, steps=2),
    ]  # fmt: skip
    assert tasks(planned(users, seconds=5.0)) == ["quick"]
    assert set(tasks(planned(users, seconds=20.0))) == {"quick", "answer"}


def test_the_first_user_of_each_symbol_is_played_however_long_it_takes():
    users = [candidate(f"t{k}", {f"new{k}": f"m:f{k}"}, seconds=100.0) for k in range(5)]
    plan = planned(users, seconds=0.0)
    assert len(tasks(plan)) == 5 and plan.unseen == []


def test_a_symbol_that_is_gone_makes_stale_too():
    gone = replace(candidate("t", {"aaaa": "m:f"}, "aaaabbbb").proof, code="another")
    user = Candidate(("s", "", ""), "t", gone, Inputs({"aaaa": "m:f"}, ("p",)))
    plan = planned([user])
    assert tasks(plan) == ["t"] and list(plan.changed) == ["something that is no longer reached (s::)"]


@pytest.mark.parametrize(
    ("drawing", "drawn", "stale"), [("old", None, False), ("new", "first", False), ("new", "other", True)]
)
def test_an_instance_is_drawn_again_where_other_code_draws_it(drawing, drawn, stale):
    user = candidate("t", {"aaaa": "m:f"}, "aaaa", drawing="old", drawn="first")
    user.inputs.__dict__.update(drawing=drawing, drawn=drawn)
    assert bool(user.changed) == stale
    assert user.changed == (["what is made of task files (s::)"] if stale else [])


def test_another_platform_is_played_with_one_task_of_each_program():
    all_ = [candidate(f"t{k}", {"aaaa": "m:f"}, "aaaa", program=f"p{k % 3}") for k in range(9)]
    plan = planned(all_, platform="other")
    assert len(tasks(plan)) == 3
    assert {reason for replay in plan.replays for reason in replay.reasons} == {f"platform: p{k}" for k in range(3)}
    seen = [replace(all_[0], proof=replace(all_[0].proof, platform="other")), *all_[1:]]
    assert len(tasks(planned(seen, platform="other"))) == 2


def test_turns_play_everything_once():
    all_ = [candidate(f"t{k}", {"aaaa": "m:f"}, "aaaa") for k in range(200)]
    played = [task for turn in range(7, 23) for task in tasks(planned(all_, shares=16, turn=turn))]
    assert sorted(played) == sorted(each.task for each in all_)


@pytest.mark.parametrize(("hours", "turns"), [(0, 0), (3.9, 0), (4, 1), (24, 6)])
def test_a_turn_lasts_four_hours(hours, turns):
    assert this_turn(hours * 3600) == turns
