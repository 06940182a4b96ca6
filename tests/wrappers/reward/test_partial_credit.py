"""PartialCredit: the share of the checks that passed, and no pay without what is required."""

import gymnasium as gym
import pytest
from fake_desktops import desktop, keeps_the_contract
from hypothesis import given
from hypothesis import strategies as st

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.wrappers import PartialCredit

OUTCOMES = st.sampled_from(["pass", "fail", "error"])


def verdict(**outcomes):
    """A verdict as an info has it: ``a="pass"`` is a check; ``stop`` has weight 0."""
    checks = [CheckResult(name, outcome, weight=float(name != "stop")) for name, outcome in outcomes.items()]
    return Verdict.from_checks(checks).to_dict()


@pytest.mark.parametrize("action", ["computer", "code", "discrete"])
def test_it_keeps_the_contract(action):
    keeps_the_contract(
        lambda env: PartialCredit(env, weights={"number": 2.0}, scale=0.5, require=["state"]), action=action
    )


@given(st.lists(st.tuples(OUTCOMES, st.floats(0.01, 100)), min_size=1, max_size=6), OUTCOMES)
def test_it_is_one_exactly_if_all_passed(checks, stop):
    env = PartialCredit(desktop(), weights={f"c{k}": weight for k, (_, weight) in enumerate(checks)})
    info = verdict(stop=stop, **{f"c{k}": outcome for k, (outcome, _) in enumerate(checks)})
    share = env.share(info)
    assert 0 <= share <= 1
    assert (share == 1) == all(outcome == "pass" for outcome in (stop, *(outcome for outcome, _ in checks)))
    if stop == "pass":
        assert share == pytest.approx(sum(w for o, w in checks if o == "pass") / sum(w for _, w in checks))
    else:
        assert share == 0


@pytest.mark.parametrize(
    ("arguments", "outcomes", "share"),
    [
        ({}, {"stop": "pass", "a.x": "pass", "b.y": "fail"}, 0.5),
        ({}, {"stop": "fail", "a.x": "pass"}, 0.0),
        ({}, {"stop": "pass"}, 1.0),
        ({}, {"stop": "fail"}, 0.0),
        ({}, {"a": "error", "b": "pass"}, 0.5),
        ({"weights": {"a.*": 3}}, {"a.x": "pass", "b.y": "fail"}, 0.75),
        ({"weights": {"a.x": 1, "a.*": 7}}, {"a.x": "pass", "a.y": "fail"}, 0.125),
        ({"weights": {"a.*": 0}}, {"a.x": "pass", "b": "fail"}, 0.0),
        ({"weights": {"a.*": 0}}, {"a.x": "fail", "b": "pass"}, 0.0),
        ({"weights": {"a.*": 0}}, {"a.x": "pass", "b": "pass"}, 1.0),
        ({"require": ["a.*"]}, {"a.x": "fail", "b": "pass"}, 0.0),
        ({"require": ["a.*"]}, {"a.x": "pass", "b": "fail"}, 0.5),
        ({"require": ["a.*"]}, {"a.x": "error", "b": "pass"}, 0.0),
    ],
)
def test_weights_and_requirements(arguments, outcomes, share):
    assert PartialCredit(desktop(), **arguments).share(verdict(**outcomes)) == share


def test_a_verdict_without_checks_pays_its_score():
    assert PartialCredit(desktop()).share(Verdict(0.0, error="the task has no checks").to_dict()) == 0


def test_the_terminal_reward_is_scaled_and_the_verdict_stays():
    env = PartialCredit(desktop(max_steps=3), scale=10)
    env.reset(seed=0)
    _, reward, *_, info = env.step(Action("wait", seconds=0))
    assert reward == 0 and "partial" not in info
    _, reward, terminated, _, info = env.step(Action("answer", text="wrong"))
    assert terminated and reward == 5 and info["partial"] == 0.5  # the file's state is right, the answer is not
    assert info["verdict"]["success"] is False and info["verdict"]["score"] == 0
    env.reset(seed=0)
    for action in env.desktop.oracle():
        _, reward, *_, info = env.step(action)
    assert reward == 10 and info["verdict"]["success"]


def test_a_fault_pays_nothing():
    env = PartialCredit(desktop())
    env.reset(seed=0)
    env.desktop.machine.guest.close()
    _, reward, _, truncated, info = env.step(Action("done"))
    assert truncated and reward == 0 and "partial" not in info


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": {"a": -1}}, r"weights\['a'\]=-1"),
        ({"weights": {"a": "1"}}, "a number from 0 up"),
        ({"scale": None}, "scale=None"),
        ({"scale": float("nan")}, "scale=nan"),
        ({"require": "stop"}, "a list of names"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        PartialCredit(desktop(), **arguments)


@pytest.mark.sandbox
def test_on_a_real_desktop():
    env = PartialCredit(
        gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", action="code", observation=["instruction"]), scale=2
    )
    env.reset(seed=0)
    _, reward, _, _, info = env.step("DONE")
    assert reward == 0 and len(info["verdict"]["checks"]) > 1
    env.reset(seed=0)
    for program in env.desktop.oracle():
        _, reward, *_ = env.step(program)
    assert reward == 2
    env.close()
