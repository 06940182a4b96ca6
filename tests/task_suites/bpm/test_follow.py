"""Procedures that are carried out: what a step says to do, and what comes of it on a fake screen."""

from fnmatch import fnmatchcase

import pytest

from deskgym.envs.action.actions import Action
from deskgym.envs.observation.elements import Element
from deskgym.task_suites.bpm.follow import MOST_MOVES, NotUnderstood, follow, moves_of


def said(step):
    return [(move.verb, move.target or "+".join(move.keys)) for move in moves_of(f"1. {step}")]


@pytest.mark.parametrize(
    ("step", "moves"),
    [
        ('Click on the button "Save".', [("click", "Save")]),
        ("Click 'Save' (at the top).", [("click", "Save")]),
        ("Click on the “Save” link, then press Return.", [("click", "Save"), ("press", "enter")]),
        ('Click on the list "Queue" and choose {name}.', [("click", "Queue"), ("choose", "{name}")]),
        ("Select {status[name]} from the list.", [("choose", "{status[name]}")]),
        ('Type "a, and b" into the field "Title"', [("type", "a, and b")]),
        ("Enter the text {text}", [("type", "{text}")]),
        (
            'Go to http://127.0.0.1:8000/tickets/; click the link "New"',
            [("open", "http://127.0.0.1:8000/tickets/"), ("click", "New")],
        ),
        (
            "Click on the address bar, type 127.0.0.1:8000/t/{n}/ and press Return; it opens.",
            [("click", "address bar"), ("type", "127.0.0.1:8000/t/{n}/"), ("press", "enter")],
        ),
        ("Press ctrl and minus six times, so that a whole page is in sight.", [("press", "ctrl+minus")]),
        ('Press "Ctrl+S".', [("press", "ctrl+s")]),
        ("Leave the rest as it is, and think of pressing matters.", []),
        ("Press a key.", []),
        ("Click.", []),
        ("", []),
    ],
)
def test_what_a_step_says(step, moves):
    assert said(step) == moves


def test_how_often_a_key_is_pressed():
    assert [move.count for move in moves_of("1. Press Tab twice.\n2. Press Tab 7 times.\n3. Press Tab.")] == [2, 7, 1]
    assert moves_of("1. Press Tab 9000 times.")[0].count == 20


def test_roles_go_with_the_word_for_the_element():
    tab, button = moves_of('1. Click on the tab "A".\n2. Click the button "B".')
    assert tab.roles == ("page tab",) and "push button" in button.roles


def test_a_procedure_without_end_is_refused():
    with pytest.raises(NotUnderstood, match=f"at most {MOST_MOVES}"):
        moves_of("\n".join(f'{k}. Click "A".' for k in range(MOST_MOVES + 1)))


class Keyboard:
    """A screen on which nothing can be found."""

    size = (640, 480)

    def find_all(self, **_):
        return []

    def find(self, **_):
        from deskgym.envs.errors import SetupError

        raise SetupError("nothing is there")


def played(procedure, params=None):
    return [action for burst in follow(procedure, params or {})(Keyboard()) for action in burst]


def test_parameters_are_those_of_the_case():
    typed = played("1. Type {n} of {who[name]}", {"n": 7, "who[name]": "Ada"})
    assert typed[1] == Action("type", text="7 of Ada") and typed[-1] == Action("done")


def test_who_finds_nothing_or_an_unknown_parameter_gives_up_there(monkeypatch):
    monkeypatch.setattr("deskgym.task_suites.bpm.follow._TIMEOUT", 0.05)
    assert [action.verb for action in played('1. Press Tab.\n2. Click "A".\n3. Press Tab.')] == ["press", "done"]
    assert [action.verb for action in played("1. Press Tab.\n2. Type {who}.", {"n": 1})] == ["press", "done"]


def test_what_is_enabled_comes_before_what_is_not():
    back = Element(0, 0, 10, 10, "push button", "Forward")
    letter = Element(100, 0, 10, 10, "push button", "* Forward", states=frozenset({"enabled"}))

    class Mail(Keyboard):
        def find_all(self, *, role, name):
            return [each for each in (back, letter) if each.role == role and fnmatchcase(each.name, name)]

    (click,) = next(follow('1. Click on the button "Forward".', {})(Mail()))
    assert (click.x, click.y) == letter.center
