"""References are compared where nobody knows before, and know themselves in whatever way they are written."""

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.task_suites.programs.kalgebra import checks
from deskgym.task_suites.programs.kalgebra.gold import reference_curve, reference_surface
from deskgym.task_suites.programs.kalgebra.language.plots import curve, surface

SEEDS = range(3)
SAME = [
    ("x->2*x^2+3", "x->3+x*x*2"),
    ("x->5*ln(x)+1", "x->1+ln(x^5)"),
    ("x->3*e^x+2", "x->2+3*exp(x)"),
    ("x->9*abs(x)+1", "x->1+abs(9*x)"),
    ("(x-4)^2+(y-1)^2=4", "x^2-8*x+16+(y-1)^2=4"),
    ("t->vector{3*cos(t), 2*sin(t)}", "t->vector{cos(t)*3, sin(t)*2}"),
    ("q->3*sin(4*q)", "q->sin(q*4)*3"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_plot_is_known_wherever_it_is_looked_at(one: str, other: str):
    for seed in SEEDS:
        assert reference_curve(one, seed).fits(curve(other)) and reference_curve(other, seed).fits(curve(one))


@pytest.mark.parametrize("text", ["(x,y)->3*sin(x)+2*x*y", "(x,y,z)->x^2+y^2+z^2-16", "(x,y)->x*y/3"])
def test_a_surface_is_known_wherever_it_is_looked_at(text: str):
    assert all(reference_surface(text, seed).fits(surface(text)) for seed in SEEDS)


def test_a_plot_through_one_references_points_is_not_another_plot():
    """The points of the first version, -7.3, -5.9 and so on, are no others' any more."""
    old = [-7.3, -5.9, -4.1, -3.2, -2.3, -1.4, -0.65, -0.2, 0.35, 0.9, 1.7, 2.6, 3.8, 5.2, 6.6, 8.1]
    cheat = "x->2*x+3+" + "*".join(f"(x-({x}))" for x in old)
    assert not any(reference_curve("x->2*x+3", seed).fits(curve(cheat)) for seed in SEEDS)
    known = [x for (x, _), on in reference_curve("x->2*x+3", 7).cartesian.items() if on]
    cheat = "x->2*x+3+" + "*".join(f"(x-({x!r}))" for x in known)
    assert not any(reference_curve("x->2*x+3", seed).fits(curve(cheat)) for seed in SEEDS if seed != 7)


def test_the_places_of_an_episode_are_its_own_and_are_kept():
    finals = [FinalState(FakeMachine(), "done") for _ in range(2)]
    first, second = (checks._secret(final) for final in finals)
    assert first != second and checks._secret(finals[0]) == first
    assert finals[0].reads["kalgebra.places"] == (first, None)  # a recording keeps what was read


def test_a_function_is_compared_at_places_that_are_not_in_the_task(monkeypatch):
    def held(text: str) -> bool:
        monkeypatch.setattr(checks, "_variable", lambda final, name: text)
        monkeypatch.setattr(checks, "_variables", lambda final: {"f": checks.readings(text)[0]})
        return checks.function_variable(FinalState(FakeMachine(), "done"), "f", like="x->3*x^2+2*x")[0]

    assert held("x->x*(3*x+2)")
    assert not held("x->3*x^2+2*x+(x-1)*(x+2)*(x-3)")
    assert not held("x->2*x^2+3*x")
    with pytest.raises(ValueError, match="is no function"):
        checks.function_variable(FinalState(FakeMachine(), "done"), "f", like="3")


def test_a_function_is_compared_where_it_has_values(monkeypatch):
    monkeypatch.setattr(checks, "_variable", lambda final, name: "x->ln(x)")
    monkeypatch.setattr(checks, "_variables", lambda final: {"f": checks.readings("x->ln(x)")[0]})

    def held(**arguments) -> bool:
        return checks.function_variable(FinalState(FakeMachine(), "done"), "f", **arguments)[0]

    assert held(like="x->ln(x)") and not held(like="x->2*ln(x)")
    with pytest.raises(ValueError, match="hardly a value"):
        held(like="x->ln(x-9)")
    with pytest.raises(ValueError, match="nothing is compared"):
        held()


def test_a_count_of_nothing_is_a_mistake():
    with pytest.raises(ValueError, match="nothing is counted"):
        checks.count(FinalState(FakeMachine(), "done"))
