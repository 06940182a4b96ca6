import pytest

from deskgym.envs.errors import GuestCallError, GuestLost, MachineError, ServiceError, SetupError
from deskgym.envs.evaluation.checks.state import Reader, lookup
from deskgym.envs.evaluation.checks.state import state as state_check
from deskgym.envs.evaluation.evaluator import Check, CheckFailed, Evaluator
from deskgym.envs.evaluation.predicates import Predicate


def raising(error: Exception) -> Check:
    def test(final):
        raise error

    return Check("broken", test)


GOOD = Check("good", lambda final: (True, "fine"))
BAD = Check("bad", lambda final: (False, "not so"))


@pytest.mark.parametrize(
    ("end", "scores"),
    [
        ("done", {"done": 1, "limit": 1, "fail": 0, "answer": 0}),
        ("answer", {"done": 0, "limit": 0, "fail": 0, "answer": 1}),
        ("fail", {"done": 0, "limit": 0, "fail": 1, "answer": 0}),
    ],
)
def test_which_stops_earn_the_reward(state, end: str, scores: dict) -> None:
    for stop, score in scores.items():
        verdict = Evaluator([GOOD], end).evaluate(state(stop=stop))
        assert (verdict.score, verdict.error) == (score, None)
        assert verdict.checks[0].name == "stop"
        assert f"stopped with {stop!r}; right is {end!r}" in verdict.checks[0].message


def test_pass_fail_and_error(state) -> None:
    assert Evaluator([GOOD, GOOD]).evaluate(state()).success
    failed = Evaluator([GOOD, BAD]).evaluate(state())
    assert (failed.score, failed.error, failed.partial) == (0.0, None, 0.5)
    broken = Evaluator([GOOD, raising(ZeroDivisionError("x"))]).evaluate(state())
    assert broken.score == 0 and not broken.success and broken.error == "broken: ZeroDivisionError: x"
    lost = Evaluator([raising(GuestLost("gone"))]).evaluate(state())
    assert lost.error and "guest_lost" in lost.error


@pytest.mark.parametrize("error", [SetupError("hidden"), GuestCallError("no bus"), ServiceError("locked")])
def test_what_cannot_be_read_is_a_fail_once_the_agent_has_acted(state, error) -> None:
    final = state()
    assert raising(error)(final).outcome == "error"
    final.acted = True
    assert raising(error)(final).outcome == "fail"


def test_only_what_a_reading_raises_is_the_agents_doing(state) -> None:
    def read(machine):
        return {}["plots"]

    final = state()
    final.acted = True
    reading = Check("read", lambda final: (final.read_once("plots", read), ""))
    assert reading(final).outcome == "fail"
    assert raising(KeyError("a mistake of the check"))(final).outcome == "error"
    assert raising(MachineError("the host is full", "start_failed"))(final).outcome == "error"


def test_a_failed_check_decides_whatever_another_could_not_say(state) -> None:
    verdict = Evaluator([raising(ValueError()), BAD]).evaluate(state())
    assert verdict.error is None and [check.outcome for check in verdict.checks] == ["pass", "error", "fail"]
    assert Evaluator([raising(ValueError())]).evaluate(state(stop="fail")).error is None


def test_check_failed_is_a_fail_with_its_message(state) -> None:
    result = raising(CheckFailed("the axis is blue"))(state())
    assert (result.outcome, result.message) == ("fail", "the axis is blue")


def test_a_feasible_task_without_checks_is_an_error_and_not_a_gift(state) -> None:
    assert Evaluator([]).evaluate(state()).error == "the task has no checks"
    assert Evaluator([], "fail").evaluate(state(stop="fail")).success


def test_interrupts_are_not_swallowed(state) -> None:
    with pytest.raises(KeyboardInterrupt):
        Evaluator([raising(KeyboardInterrupt())]).evaluate(state())  # type: ignore[arg-type]


def test_state_reads_once_per_reader_and_arguments(state) -> None:
    calls = []

    def read(machine, tab=0):
        calls.append(tab)
        return {"vars": [{"name": "a", "value": 2.0}]}

    final = state()
    that = Predicate.parse({"close": {"to": 2, "abs": 0.1}})
    for tab in (0, 0, 1):
        assert state_check(final, Reader("demo.vars", read, {"tab": tab}), that, at="vars.0.value")[0]
    assert calls == [0, 1]
    passed, message = state_check(final, Reader("demo.vars", read, {"tab": 0}), that, at="vars.0.name")
    assert not passed and "demo.vars at vars.0.name is 'a'" in message
    with pytest.raises(CheckFailed, match="no item '3'"):
        state_check(final, Reader("demo.vars", read, {"tab": 0}), that, at="vars.3")


def test_a_read_that_raises_is_not_repeated(state) -> None:
    calls = []

    def read(machine):
        calls.append(1)
        raise GuestLost("gone")

    evaluator = Evaluator([Check("a", lambda final: final.read_once("k", read))] * 3)
    assert len([c for c in evaluator.evaluate(state()).checks if c.outcome == "error"]) == 3
    assert calls == [1]


def test_lookup_in_what_has_no_parts() -> None:
    with pytest.raises(CheckFailed, match="at a: 5 has no parts"):
        lookup({"a": 5}, "a.b")
