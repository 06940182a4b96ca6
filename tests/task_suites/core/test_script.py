from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.action.actions import STOPS, Action
from deskgym.envs.episode import Element
from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.calls import bind
from deskgym.task_suites.core.script import STEPS, Step, play


class OneButton:
    """A screen with one button, that notes when it is looked at."""

    size = (200, 100)

    def __init__(self) -> None:
        self.log: list[object] = []

    def find(self, *, role=None, name=None, text=None, window=None, nth=0, timeout=10.0):
        self.log.append("look")
        if name not in (None, "OK"):
            raise SetupError(f"no element named {name!r}")
        return Element(10, 20, 30, 8, "push button", "OK")


def macro(screen, times: int = 2):
    for _ in range(times):
        yield [Action("click", *screen.find(name="OK").center), Action("wait", seconds=1)]
    yield []


def steps(*written: dict) -> list[Step]:
    registry = {**STEPS, "macro": macro}
    return [Step(name, registry[name], bind(registry[name], data)) for item in written for name, data in item.items()]


def verbs(*written: dict) -> list[list[str]]:
    return [[action.verb for action in burst] for burst in play(steps(*written), OneButton())]


def test_untargeted_steps_join_the_burst_before_them() -> None:
    assert verbs(
        {"click": "OK"}, {"type": "a"}, {"press": "enter"}, {"click": {"role": "push button"}}, {"done": None}
    ) == [
        ["click", "type", "press"],
        ["click"],
        ["done"],
    ]


def test_typing_waits_for_the_focus() -> None:
    asked = []

    class Focusing(OneButton):
        def find(self, *, state=None, **wanted):
            asked.append(state)
            return super().find(**wanted)

    written = steps({"click": "OK"}, {"type": {"text": "a", "focus": {"name": "OK"}}}, {"press": "tab"}, {"type": "b"})
    assert [[a.verb for a in burst] for burst in play(written, Focusing())] == [["click"], ["type", "press", "type"]]
    assert asked == [None, "focused"]
    with pytest.raises(SetupError, match="no element named 'Cancel'"):
        list(play(steps({"press": {"keys": "tab", "focus": {"name": "Cancel"}}}), Focusing()))


def test_points_do_not_look() -> None:
    assert verbs({"type": "a"}, {"click": {"x": 1, "y": 2}}, {"drag": {"from": {"x": 1, "y": 1}, "to": {"dx": 5}}}) == [
        ["type", "click", "drag"]
    ]


def test_waits_and_stops_stand_alone() -> None:
    assert verbs({"type": "a"}, {"wait": 2}, {"type": "b"}, {"answer": 4.0}) == [
        ["type"],
        ["wait"],
        ["type"],
        ["answer"],
    ]


def test_the_screen_is_looked_at_only_when_what_came_before_is_done() -> None:
    screen = OneButton()
    for burst in play(steps({"type": "a"}, {"click": "OK"}, {"macro": None}, {"type": "z"}), screen):
        screen.log.append([action.verb for action in burst])
    assert screen.log == [
        ["type"],
        "look",
        ["click"],
        "look",
        ["click"],
        ["wait"],
        "look",
        ["click"],
        ["wait"],
        ["type"],
    ]


def test_what_the_steps_become() -> None:
    actions = [
        action
        for burst in play(
            steps(
                {"click": {"name": "OK", "dx": -3}},
                {"double_click": "OK"},
                {"right_click": {"x": 1, "y": 2, "keys": "ctrl"}},
                {"move": {"role": "push button"}},
                {"drag": {"from": {"name": "OK"}, "to": {"dx": 10, "dy": -4}}},
                {"scroll": {"dy": 3, "at": {"name": "OK"}}},
                {"press": {"keys": "ctrl+shift+s", "times": 2}},
                {"type": 12.0},
                {"answer": 0.5},
            ),
            OneButton(),
        )
        for action in burst
    ]
    assert actions == [
        Action("click", 22, 24),
        Action("click", 25, 24, clicks=2),
        Action("click", 1, 2, button="right", keys=("ctrl",)),
        Action("move", 25, 24),
        Action("drag", 25, 24, 35, 20),
        Action("scroll", 25, 24, dy=3),
        Action("press", keys=("ctrl", "shift", "s")),
        Action("press", keys=("ctrl", "shift", "s")),
        Action("type", text="12"),
        Action("answer", text="0.5"),
    ]
    assert all(action.check((200, 100)) for action in actions)


def test_a_missing_element_is_an_error_that_names_it() -> None:
    with pytest.raises(SetupError, match="'Cancel'"):
        list(play(steps({"click": "Cancel"}), OneButton()))


written = st.sampled_from(
    [
        {"click": "OK"},
        {"type": "a"},
        {"press": "a"},
        {"wait": 1},
        {"done": None},
        {"fail": None},
        {"macro": 1},
        {"scroll": 1},
    ]
)


@given(st.lists(written, max_size=12))
def test_bursts_are_never_empty_mixed_or_out_of_order(script: list[dict]) -> None:
    bursts = list(play(steps(*script), OneButton()))
    alone = {"wait", *STOPS}
    assert all(burst and (len(burst) == 1 or not {a.verb for a in burst} & alone) for burst in bursts)
    expected = [v for item in script for name in item for v in (["click", "wait"] if name == "macro" else [name])]
    assert [action.verb for burst in bursts for action in burst] == expected


def test_scripts_can_be_played_again() -> None:
    script = partial(play, steps({"click": "OK"}, {"done": None}))
    assert list(script(OneButton())) == list(script(OneButton()))
