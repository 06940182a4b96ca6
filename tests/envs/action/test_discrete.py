"""The discrete action: its space, its masks, what its numbers stand for; on rows made here and on the fake machine."""

import itertools
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action, is_combination
from deskgym.envs.action.discrete import DiscreteActions, DiscreteConfig
from deskgym.envs.action.discrete_verbs import VERBS, load_verb
from deskgym.envs.action.element_masks import ElementMasks
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError, InvalidAction, TaskError
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.guest.step import ElementsReading
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements

sys.path.insert(0, str(Path(__file__).parent))  # discrete_verbs

SIZE = (200, 100)
WORDS = Vocabulary(("one", "two", "enter", "ctrl+s"), ("word", "word", "key", "key"))


def row(role, x=10, y=10, w=20, h=10, states="sensitive enabled", parent=-1, ref=""):
    bits = sum(1 << STATE_BITS.index(name) for name in states.split())
    return (x, y, w, h, 0, bits, parent, 0), (role, "", "", ref)


def elements(*rows):
    return Elements(np.array([r for r, _ in rows], np.int32).reshape(-1, 8), [texts for _, texts in rows])


def masks_of(*rows):
    return ElementMasks(elements(*rows), SIZE)


def actions(*rows, vocabulary=WORDS, max_elements=6, **config):
    made = DiscreteActions(DiscreteConfig(**{"grid": (2, 1), "max_arguments": 5, **config}), SIZE, max_elements)
    made.look(elements(*rows), vocabulary)
    return made


def parts(discrete):
    """The masks by part."""
    return np.split(discrete.masks(), np.cumsum(discrete.nvec)[:-1])


def every(discrete):
    return itertools.product(*map(range, discrete.nvec))


def row_of(env, role, name=None, nth=0):
    fits = [k for k, e in enumerate(env.elements) if e.role == role and name in (None, e.name)]
    return fits[nth]


# --- the space


def test_the_space_is_verbs_by_targets_by_arguments():
    discrete = actions(max_elements=7, grid=(3, 2), max_arguments=9)
    assert discrete.nvec == (len(VERBS), 7 + 6, 9)
    assert discrete.space == gym.spaces.MultiDiscrete([len(VERBS), 13, 9])
    assert len(discrete.masks()) == sum(discrete.nvec)


def test_the_grid_covers_the_screen_row_by_row():
    assert actions(grid=(2, 2)).grid == [(50, 25), (150, 25), (50, 75), (150, 75)]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"verbs": ["clik"]}, "unknown discrete verb 'clik'.*did you mean 'click'"),
        ({"verbs": "click"}, "legal is a list"),
        ({"verbs": []}, "legal is a list"),
        ({"verbs": ["click", "click"]}, "without repeats"),
        ({"verbs": ["no_such_module:VERB"]}, "cannot be loaded.*no_such_module"),
        ({"verbs": ["discrete_verbs:NONE"]}, "cannot be loaded.*NONE"),
        ({"verbs": ["discrete_verbs:NO_VERB"]}, "is a str; legal is a Verb"),
        ({"grid": [8]}, r"grid: legal is a list of 2 of \(a whole number from 0 to 256\), got \[8\]"),
        ({"grid": [-1, 2]}, r"grid\[0\]: legal is a whole number from 0 to 256, got -1"),
        ({"max_arguments": 0}, "max_arguments: legal is a whole number from 1 up, got 0"),
        ({"verbs": "click, done"}, r"verbs: legal is a list of \(a text\), got 'click, done'"),
        ({"verbs": [["click"]]}, r"verbs\[0\]: legal is a text, got \['click'\]"),
        ({"verbs": None}, "verbs: legal is a list of .*, got None"),
        ({"grid": 5}, "grid: legal is a list of 2 of .*, got 5"),
        ({"grid": ["8", "6"]}, r"grid\[0\]: legal is a whole number from 0 to 256, got '8'"),
        ({"grid": np.array(5)}, r"grid: legal is a list of 2 of .*, got array\(5\)"),
        ({"grid": "86"}, "grid: legal is a list of 2 of .*, got '86'"),
        ({"grid": [2.5, 2]}, r"grid\[0\]: .*, got 2.5"),
        ({"grid": [True, 2]}, r"grid\[0\]: .*, got True"),
        ({"grid": [257, 2]}, r"grid\[0\]: .*, got 257"),
        ({"max_arguments": "64"}, "max_arguments: legal is a whole number from 1 up, got '64'"),
        ({"max_arguments": 2.5}, "max_arguments: .*, got 2.5"),
        ({"max_arguments": True}, "max_arguments: .*, got True"),
        ({"keys": "enter"}, "keys: legal is a list of .*, got 'enter'"),
        ({"keys": [None]}, r"keys\[0\]: legal is a text, got None"),
        (["click"], r"discrete=\['click'\]; legal is None or a mapping with any of grid, keys"),
        ({"keys": ["ctrl+nonsense"]}, "'ctrl+nonsense' is none".replace("+", r"\+")),
        ({"max_words": 3}, "discrete: unknown option 'max_words'; legal are grid, keys, max_arguments, verbs"),
    ],
)
def test_a_bad_option_is_refused_with_what_is_legal(options, message):
    with pytest.raises(ValueError, match=message):
        make(discrete=options)


def test_options_may_be_numpys():
    discrete = actions(grid=np.array([3, 2]), max_arguments=np.int64(9), keys=[])
    assert discrete.nvec == (len(VERBS), 6 + 6, 9)


@pytest.mark.parametrize("text", ["enter", "ctrl+s", "ctrl++", "+", "F5", "a"])
def test_is_combination(text):
    assert is_combination(text)


@pytest.mark.parametrize("text", ["", "contrl+s", "ctrl+nonsense"])
def test_is_no_combination(text):
    assert not is_combination(text)


# --- what can be acted on

BUTTON, TEXT = row("push button"), row("text", states="sensitive editable")


@pytest.mark.parametrize(
    "made, clickable",
    [
        (BUTTON, True),
        (TEXT, True),
        (row("filler"), False),
        (row("filler", states="sensitive editable"), True),
        (row("push button", states="visible"), False),
        (row("push button", x=190, w=40), False),
        (row("push button", x=185, w=28), True),
        (row("push button", x=-30, w=40), False),
        (row("push button", y=99, h=4), False),
        (row("push button", w=0), False),
        (row("push button", h=-5), False),
    ],
)
def test_clickable(made, clickable):
    assert masks_of(made).clickable.tolist() == [clickable]


@pytest.mark.parametrize(
    "made, editable",
    [
        (TEXT, True),
        (row("text"), False),
        (row("text", states="sensitive editable read_only"), False),
        (row("text", states="editable"), False),
    ],
)
def test_editable(made, editable):
    assert masks_of(made).editable.tolist() == [editable]


@pytest.mark.parametrize(
    "rows, typing",
    [
        ([TEXT], False),
        ([row("text", states="sensitive editable focused")], True),
        ([row("push button", states="sensitive focused")], False),
        ([row("terminal", states="sensitive focused")], True),
        ([row("text", states="sensitive editable focused"), row("popup menu")], False),
    ],
)
def test_typing_needs_a_focus_that_takes_text(rows, typing):
    assert masks_of(*rows).typing is typing


def test_an_open_menu_admits_itself_and_the_menu_bar():
    rows = [
        row("frame"),
        row("menu bar", parent=0),
        row("menu item", parent=1),
        row("popup menu", parent=2),
        row("menu item", parent=3),
        row("menu item", states="visible", parent=3),
        row("menu item", parent=1),
        row("push button", parent=0),
    ]
    assert np.flatnonzero(masks_of(*rows).clickable).tolist() == [2, 4, 6]


def test_a_modal_window_keeps_the_menu_bar_from_input():
    rows = [
        row("frame"),
        row("menu bar", parent=0),
        row("menu item", parent=1),
        row("dialog", states="sensitive modal"),
        row("filler", parent=3),
        row("push button", parent=4),
    ]
    assert np.flatnonzero(masks_of(*rows).clickable).tolist() == [5]


ONE, OTHER = ":1.2/org/a11y/atspi/accessible/", ":1.21/org/a11y/atspi/accessible/"  # two programs' references


@pytest.mark.parametrize(
    "save, overwrite, admitted",
    [("", "active", 5), ("active", "", 3), ("", "", 5)],
)
@pytest.mark.parametrize("ref", ["", ONE])
def test_of_two_modal_windows_the_active_one_takes_input_else_the_last(save, overwrite, admitted, ref):
    rows = [
        row("frame", ref=ref),
        row("push button", parent=0, ref=ref),
        row("dialog", states=f"sensitive modal {save}", ref=ref),
        row("push button", parent=2, ref=ref),
        row("dialog", states=f"sensitive modal {overwrite}", ref=ref),
        row("push button", parent=4, ref=ref),
    ]
    assert np.flatnonzero(masks_of(*rows).clickable).tolist() == [admitted]


@pytest.mark.parametrize("state", ["", "active"])
def test_of_a_modal_window_within_another_the_inner_one_takes_input(state):
    rows = [
        row("dialog", states=f"sensitive modal {state}"),
        row("push button", parent=0),
        row("dialog", states="sensitive modal", parent=0),
        row("push button", parent=2),
        row("text", states="sensitive editable focused", parent=0),
    ]
    assert np.flatnonzero(masks_of(*rows).clickable).tolist() == [3]
    assert not masks_of(*rows).typing


def test_a_modal_window_keeps_input_only_from_its_own_program():
    rows = [
        row("frame", ref=ONE + "1"),
        row("push button", parent=0, ref=ONE + "2"),
        row("panel", parent=0, ref=":1.9/7"),  # embedded: another process draws it, in a window of the first
        row("push button", parent=2, ref=":1.9/8"),
        row("dialog", states="sensitive modal", ref=ONE + "3"),
        row("push button", parent=4, ref=ONE + "4"),
        row("frame", states="sensitive active", ref=OTHER + "1"),
        row("menu bar", parent=6, ref=OTHER + "2"),
        row("menu item", parent=7, ref=OTHER + "3"),
        row("text", states="sensitive editable focused", parent=6, ref=OTHER + "4"),
    ]
    assert np.flatnonzero(masks_of(*rows).clickable).tolist() == [5, 8, 9]
    assert masks_of(*rows).typing
    menu = row("popup menu", parent=8, ref=OTHER + "5"), row("menu item", parent=10, ref=OTHER + "6")
    assert np.flatnonzero(masks_of(*rows, *menu).clickable).tolist() == [5, 8, 11]


def test_the_items_of_a_combo_box_need_it_open():
    combo = row("combo box", x=10, y=10, w=50, h=20)
    other = row("push button", x=100)
    closed = [combo, row("list item", x=10, y=12, parent=0), row("list item", x=0, y=0, parent=0), other]
    assert np.flatnonzero(masks_of(*closed).clickable).tolist() == [0, 3]
    drop_down = row("list", x=10, y=30, w=50, h=40, parent=0)
    items = [row("list item", x=10, y=30, parent=1), row("list item", x=10, y=200, parent=1)]
    assert np.flatnonzero(masks_of(combo, drop_down, *items, other).clickable).tolist() == [2]


@pytest.mark.parametrize("parent", [-7, 0, 1, 5, 2**31 - 1])
def test_a_parent_that_makes_no_sense_is_none(parent):
    rows = [row("list item", parent=parent), row("popup menu", parent=parent), row("list", parent=parent)]
    assert masks_of(*rows).clickable.tolist() == [False, False, False]
    assert masks_of(*rows[::2]).clickable.tolist() == [True, False]


# --- masks


def test_masks_on_an_empty_screen():
    discrete = actions(vocabulary=Vocabulary())
    verbs, targets, arguments = parts(discrete)
    can = {verb.name for verb, on in zip(discrete.verbs, verbs, strict=True) if on}
    assert can == {"click", "double_click", "right_click", "scroll_up", "scroll_down", "wait", "done", "fail"}
    assert targets.tolist() == [False] * 6 + [True] * 2
    assert arguments.tolist() == [True] + [False] * 4  # nothing reads it: its first entry alone


def test_text_verbs_need_an_editable_element_and_a_word():
    names = ["fill", "submit", "type", "answer", "press"]
    assert parts(actions(BUTTON, verbs=names))[0].tolist() == [False, False, False, True, True]
    assert parts(actions(TEXT, verbs=names))[0].tolist() == [True, True, False, True, True]
    focused = row("text", states="sensitive editable focused")
    assert parts(actions(focused, verbs=names))[0].tolist() == [True] * 5
    only_keys = Vocabulary(("enter",), ("key",))
    assert parts(actions(focused, verbs=names, vocabulary=only_keys))[0].tolist() == [False] * 4 + [True]
    only_words = Vocabulary(("one",), ("word",))
    assert parts(actions(focused, verbs=names, vocabulary=only_words))[0].tolist() == [True] * 4 + [False]


def test_words_go_with_words_and_keys_with_keys():
    discrete = actions(TEXT, verbs=["submit", "press"])
    assert discrete.joint()[1].tolist() == [[True, True, False, False, False], [False, False, True, True, False]]
    assert discrete.joint()[0].tolist() == [[True] + [False] * 7, [True] * 8]


def test_where_nothing_can_be_done_no_part_is_empty_and_all_is_refused():
    discrete = actions(verbs=["submit"], grid=(0, 0))
    assert [part.tolist() for part in parts(discrete)] == [[True], [True] + [False] * 5, [True] + [False] * 4]
    for action in every(discrete):
        with pytest.raises(InvalidAction, match="submit cannot be done now"):
            discrete.decode(action)


def test_elements_beyond_the_limit_are_not_seen():
    discrete = actions(BUTTON, BUTTON, TEXT, max_elements=2, grid=(0, 0), verbs=["click", "submit"])
    assert [part.tolist() for part in parts(discrete)][:2] == [[True, False], [True, True]]


def test_a_limit_forbids_targets_and_verbs():
    def limit(verb, discrete):
        _, targets, _ = discrete.nvec
        return np.arange(targets) != 0 if verb.targets else np.full(targets, verb.name != "fail")

    discrete = actions(BUTTON, BUTTON, verbs=["click", "done", "fail"])
    discrete.limits.append(limit)
    discrete.look(elements(BUTTON, BUTTON), WORDS)
    assert [part.tolist() for part in parts(discrete)][:2] == [
        [True, True, False],
        [False, True, *[False] * 4, True, True],
    ]
    assert discrete.encode([Action("click", 20, 15)])[1] == 1


ROLES = [
    "push button", "text", "filler", "list item", "list", "combo box", "popup menu", "menu bar", "menu item",
    "terminal",
]  # fmt: skip
STATES = ["sensitive", "enabled", "editable", "focused", "active", "modal", "read_only"]
ROWS = st.lists(
    st.builds(
        row,
        st.sampled_from(ROLES),
        st.integers(-20, 220),
        st.integers(-20, 120),
        st.integers(-2, 60),
        st.integers(-2, 60),
        st.lists(st.sampled_from([*STATES, "sensitive", "enabled"]), unique=True).map(" ".join),
        st.integers(-2, 8),
        st.sampled_from(["", ":1.2/a", ":1.3/a"]),
    ),
    max_size=8,
)
VOCABULARIES = st.lists(
    st.sampled_from([("a", "word"), ("bc", "word"), ("up", "word"), ("up", "key"), ("a", "key"), ("ctrl+s", "key")]),
    max_size=7,
).map(lambda pairs: Vocabulary([text for text, _ in pairs], [kind for _, kind in pairs]))
OWN = ("discrete_verbs:DRAG_RIGHT", "discrete_verbs:SPELL")
VERB_LISTS = st.lists(st.sampled_from([*VERBS, *OWN]), unique=True, min_size=1)


@settings(max_examples=60, deadline=None)
@given(ROWS, VOCABULARIES, VERB_LISTS, st.sampled_from([(0, 0), (2, 1)]))
def test_masks_are_the_projection_of_what_can_be_done(rows, vocabulary, verbs, grid):
    discrete = actions(*rows, vocabulary=vocabulary, verbs=verbs, grid=grid)
    aim, say = discrete.joint()
    expected = [np.zeros(count, bool) for count in discrete.nvec]
    for action in every(discrete):
        verb = discrete.verbs[action[0]]
        try:
            made = discrete.decode(action)
        except InvalidAction as error:
            assert not (aim[action[0], action[1]] and say[action[0], action[2]])
            assert verb.name in str(error)
            continue
        assert aim[action[0], action[1]] and say[action[0], action[2]]
        expected[0][action[0]] = True
        expected[1][action[1]] |= verb.targets is not None
        expected[2][action[2]] |= verb.argument != ""
        for step in made:
            step.check(SIZE)
            step.events()
        assert discrete.decode(discrete.encode(made)) == made
    for part, want in zip(parts(discrete), expected, strict=True):
        want[0] |= not want.any()
        assert part.tolist() == want.tolist()


@settings(max_examples=25, deadline=None)
@given(ROWS, VOCABULARIES)
def test_encode_inverts_decode_but_for_what_is_not_read(rows, vocabulary):
    discrete = actions(*rows, vocabulary=vocabulary)
    aim, say = discrete.joint()
    centers = [tuple(point) for point in discrete.element_masks.centers.tolist()]
    for action in every(discrete):
        verb, target, argument = action
        if not (aim[verb, target] and say[verb, argument]):
            continue
        again = discrete.encode(discrete.decode(action))
        assert again[0] == verb
        assert all(mask[part] for mask, part in zip(parts(discrete), again, strict=True))
        if discrete.verbs[verb].targets is not None:
            assert again[1] == target or discrete.point(int(again[1])) == discrete.point(target)
            assert len(set(centers)) < len(centers) or target >= 6 or again[1] == target
        if discrete.verbs[verb].argument:
            assert vocabulary.texts[again[2]] == vocabulary.texts[argument]


@pytest.mark.parametrize(
    "action",
    [None, "click", 3, [0, 1], [0, 1, 2, 3], [0, [1], 2], [0.5, 0, 0], [True, False, True], Action("done"), {}],
)
def test_what_is_no_discrete_action_is_refused(action):
    with pytest.raises(ActionError, match="three whole numbers"):
        actions(BUTTON).decode(action)


@pytest.mark.parametrize(
    "action, part", [([99, 0, 0], "verb 99"), ([0, -1, 0], "target -1"), ([0, 0, 5], "argument 5")]
)
def test_numbers_out_of_range_are_refused(action, part):
    with pytest.raises(ActionError, match=f"discrete {part}; legal are 0 to"):
        actions(BUTTON).decode(action)


@pytest.mark.parametrize(
    "action, why",
    [
        ((0, 1, 0), r"click cannot act on element 1 \(filler\) now"),
        ((0, 3, 0), "click cannot act on element 3: there are 3"),
        ((1, 6, 0), "submit cannot aim at a grid cell"),
        ((1, 2, 2), "submit takes a word, and argument 2 is none"),
        ((2, 0, 0), "type cannot be done now"),
    ],
)
def test_a_refusal_says_why(action, why):
    discrete = actions(BUTTON, row("filler"), TEXT, verbs=["click", "submit", "type"])
    with pytest.raises(InvalidAction, match=why):
        discrete.decode(action)


def test_what_verbs_do():
    discrete = actions(BUTTON, TEXT)

    def made(verb, target=0, argument=0):
        return discrete.decode([list(VERBS).index(verb), target, argument])

    assert made("click") == [Action("click", 20, 15)]
    assert made("click", 6) == [Action("click", 50, 50)]
    assert made("double_click") == [Action("click", 20, 15, clicks=2)]
    assert made("right_click") == [Action("click", 20, 15, button="right")]
    submit = [Action("click", 20, 15), Action("press", keys=("ctrl", "a")), Action("type", text="two\n")]
    assert made("submit", 1, 1) == submit
    assert made("press", argument=3) == [Action("press", keys=("ctrl", "s"))]
    assert made("answer", argument=1) == [Action("answer", text="two")]
    assert made("scroll_up")[0].dy < 0 < made("scroll_down")[0].dy


def test_a_burst_that_is_not_one_action_is_begun_by_the_longest_that_is():
    focused = row("text", states="sensitive editable focused")
    discrete = actions(BUTTON, focused)
    burst = [Action("click", 20, 15), Action("type", text="one"), Action("press", keys=("ctrl", "s"))]
    names = []
    while burst:
        action, count = discrete.encode_start(burst)
        assert discrete.decode(action) == burst[:count]
        names, burst = [*names, discrete.verbs[action[0]].name], burst[count:]
    assert names == ["click", "type", "press"]
    submit = [Action("click", 20, 15), Action("press", keys=("ctrl", "a")), Action("type", text="two\n")]
    assert discrete.encode_start([*submit, Action("done")])[1] == 3
    with pytest.raises(ActionError, match="no discrete action of click.*'three'"):
        discrete.encode_start([Action("type", text="three")])


# --- in the environment


class NoteTask:
    """Solved by writing its word into the field and pressing the button once."""

    verbose, tags, keys = (), (), ("ctrl+s",)
    max_steps, difficulty, source, split, feasible = 6, "easy", "test", None, True
    vocabulary = ("yes", "no", "maybe")
    wrong_attempts = {}  # noqa: RUF012

    def __init__(self, number):
        self.seed, self.id, self.params = number, f"fake/note#{number}", {}
        self.word = self.vocabulary[number % 3]
        self.instruction = f"Write {self.word} and press the button."

    def prepare(self, machine):
        pass

    def evaluate(self, final):
        display = final.machine.fake_display
        right = (display.text, display.presses) == (self.word, 1)
        return Verdict.from_checks([CheckResult("note", "pass" if right else "fail", display.text)])

    def oracle(self, screen):
        yield [Action("click", *screen.find(role="text").center), Action("type", text=self.word)]
        yield [Action("click", *screen.find(role="push button").center)]
        yield [Action("done")]


class NoteSource:
    def ids(self, split=None):
        return ["fake/note"]

    def get(self, task_id, seed=None):
        return NoteTask(seed or 0)

    def draw(self, rng, pattern=None, split=None):
        return NoteTask(int(rng.integers(1000)))


def make(**options):
    options = {"machine": "fake", "screen_size": (160, 120), "action": "discrete", "max_elements": 8} | options
    return DesktopEnv(NoteSource(), **options)


@pytest.fixture
def env():
    env = make(discrete={"grid": [2, 2], "max_arguments": 16}, observation=("elements", "vocabulary", "feedback"))
    yield env
    env.close()


def test_check_env_has_nothing_to_say():
    for options in ({}, {"grid": [0, 0], "verbs": ["click", "submit", "done"], "max_arguments": 4}):
        env = gym.make("test/Note-v0", discrete=options).unwrapped
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env)
        env.close()


gym.register("test/Note-v0", entry_point=make, nondeterministic=True)


def test_the_oracle_is_played_in_single_actions_where_no_verb_does_a_burst(env):
    env.reset(seed=0)
    names = []
    for action in env.oracle():
        assert action in env.action_space
        names.append(env.discrete.verbs[action[0]].name)
        _, reward, terminated, _, info = env.step(action)
        assert "invalid_action" not in info
    assert (names, reward, terminated) == (["click", "type", "click", "done"], 1.0, True)


def test_an_action_that_the_masks_forbid_does_nothing_and_says_why(env):
    observation, _ = env.reset(seed=0)
    aim, say = env.discrete.joint()
    forbidden = [a for a in every(env.discrete) if not (aim[a[0], a[1]] and say[a[0], a[2]])]
    env.max_steps = len(forbidden) + 1
    before = env.machine.display.capture()
    for action in forbidden:
        observation, reward, terminated, truncated, info = env.step(np.array(action))
        assert (reward, terminated, truncated, env.performed) == (0.0, False, False, ())
        assert info["invalid_action"] == observation["feedback"] != ""
    assert len(forbidden) > 1000 and np.array_equal(before, env.machine.display.capture())


def test_every_action_that_the_masks_allow_can_be_carried_out(env):
    env.reset(seed=0)
    allowed = set()
    for _ in range(2):
        env.step([0, row_of(env, "text"), 0])
        aim, say = env.discrete.joint()
        for verb in range(len(env.discrete.verbs)):
            for target, argument in itertools.product(np.flatnonzero(aim[verb]), np.flatnonzero(say[verb])):
                if not (env.discrete.joint()[0][verb, target] and env.discrete.joint()[1][verb, argument]):
                    continue  # the actions before took it away
                *_, terminated, truncated, info = env.step(np.array([verb, target, argument]))
                assert "invalid_action" not in info
                assert env.performed or env.discrete.verbs[verb].name == "wait"
                allowed.add(env.discrete.verbs[verb].name)
                if terminated or truncated:
                    env.reset(seed=0)
    assert allowed == set(VERBS)


def test_masked_samples_are_legal_parts(env):
    env.reset(seed=0)
    for seed in range(20):
        env.action_space.seed(seed)
        masks = tuple(mask.astype(np.int8) for mask in parts(env.discrete))
        assert all(mask[part] for mask, part in zip(masks, env.action_space.sample(mask=masks), strict=True))


def test_an_action_outside_the_space_is_an_error_or_feedback():
    for mode in ("raise", "feedback"):
        env = make(invalid_action=mode)
        env.reset(seed=0)
        if mode == "raise":
            with pytest.raises(ActionError, match="discrete verb 99"):
                env.step([99, 0, 0])
        else:
            assert "discrete verb 99" in env.step([99, 0, 0])[4]["invalid_action"]
        env.close()


def test_only_the_discrete_action_has_masks():
    env = make(action="computer")
    with pytest.raises(ValueError, match="action='computer' has no masks"):
        env.action_masks()
    with pytest.raises(ValueError, match="for action='discrete'"):
        make(action="computer", discrete={"grid": [0, 0]})


def test_a_verb_that_reads_no_key_leaves_the_room_to_words():
    env = make(discrete={"verbs": ["click", "submit", "done"], "max_arguments": 3})
    env.reset(seed=0)
    assert sorted(env.observer.vocabulary.texts) == ["maybe", "no", "yes"]
    env.close()


def test_a_vocabulary_that_does_not_fit_is_an_error():
    env = make(discrete={"max_arguments": 3})
    with pytest.raises(TaskError, match="3 words and 1 keys, more than max_arguments=3"):
        env.reset(seed=0)


def test_own_verbs_work_here_and_in_worker_processes():
    own = {"verbs": ["discrete_verbs:DRAG_RIGHT", "discrete_verbs:SPELL", "click", "done"], "grid": [0, 0]}
    env = make(discrete=own, observation=("elements",))
    env.reset(seed=0)
    assert env.action_masks()[:4].tolist() == [True, False, True, True]
    assert env.step([0, 2, 0])[4].get("invalid_action") is None
    assert env.performed[0].verb == "drag"
    env.step([2, 1, 0])
    env.step([1, 0, env.observer.vocabulary.texts.index("yes")])
    assert env.machine.fake_display.text == "yes"
    env.close()

    workers = gym.vector.AsyncVectorEnv([lambda: make(discrete=own, observation=("elements",))] * 2, context="spawn")
    try:
        workers.reset(seed=0)
        assert workers.single_action_space == env.action_space
        *_, infos = workers.step(np.array([[0, 2, 0], [0, 1, 0]]))
        assert infos["_invalid_action"].tolist() == [False, True]
        assert infos["invalid_action"][1] == "drag_right cannot act on element 1 (text) now"
        masks = workers.call("action_masks")
        assert np.array_equal(masks[0], masks[1]) and masks[0][:4].tolist() == [True, False, True, True]
    finally:
        workers.close()


def test_load_verb_finds_both_kinds():
    assert load_verb("click") is VERBS["click"]
    assert load_verb("discrete_verbs:SPELL").name == "spell"


def test_nothing_on_the_screen_is_no_error():
    assert ElementMasks(NO_ELEMENTS, SIZE).clickable.shape == (0,)


# --- GTK

NESTED = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
def window(title, kind=Gtk.Dialog, **options):
    made = kind(title=title, **options)
    (made if kind is Gtk.Window else made.get_content_area()).add(Gtk.Button(label=f"in {title}"))
    made.show_all()
    return made
window("other") if NAME == "other" else None
if NAME == "main":
    save = window("save", transient_for=window("main", Gtk.Window), modal=True)
    GLib.timeout_add(200, lambda: bool(window("overwrite", transient_for=save, modal=True)) and False)
Gtk.main()
"""


def test_masks_follow_nested_dialogs_of_gtk(desktop):
    python = "/usr/bin/python3"
    if not Path(python).exists() or subprocess.run([python, "-c", "import gi"], capture_output=True).returncode:
        pytest.skip("python3-gi is not installed")
    for name, title in (("other", "other"), ("main", "overwrite")):
        code = f"NAME = {name!r}{NESTED}"
        desktop.guest.call("launch", argv=[python, "-c", code], wait={"window": {"title": title}}, timeout=20)
    deadline, clickable, seen = time.monotonic() + 10, set(), set()
    expected = {"in other", "in overwrite"}
    while time.monotonic() < deadline and (len(seen) < 4 or clickable != expected):  # it is not active at once
        found = Elements.from_reading(
            ElementsReading(**desktop.guest.call("elements", limit=512, deadline=3.0, fresh=True))
        )
        buttons = [k for k, e in enumerate(found) if e.name.startswith("in ")]
        seen = {found[k].name for k in buttons}
        clickable = {found[k].name for k in buttons if ElementMasks(found, desktop.display.size).clickable[k]}
    assert seen == {"in other", "in main", "in save", "in overwrite"}
    assert clickable == expected


# --- KAlgebra


@pytest.fixture(scope="module")
def kalgebra():
    env = gym.make(
        "deskgym/Science-v0",
        task="ladder/3-plot",
        action="discrete",
        screen_size=(960, 600),
        max_elements=96,
        max_steps=60,
        observation=["elements", "a11y", "vocabulary"],
        discrete={"max_arguments": 24, "grid": [4, 3]},
    ).unwrapped
    yield env
    env.close()


def can(env, verb, target=0, argument=None):
    aim, say = env.discrete.joint()
    k = list(VERBS).index(verb)
    return bool(aim[k, target]) and bool(say[k].any() if argument is None else say[k, argument])


def do(env, verb, target=0, argument=0):
    return env.step(np.array([list(VERBS).index(verb), target, argument]))[4].get("invalid_action")


@pytest.mark.sandbox
def test_masks_follow_kalgebra(kalgebra):
    env = kalgebra
    env.reset(seed=0)
    assert can(env, "done") and can(env, "press") and can(env, "type")  # the input has the focus
    text = row_of(env, "text")
    assert can(env, "submit", text) and can(env, "fill", text) and not can(env, "submit", row_of(env, "page tab"))
    assert not can(env, "submit", text, list(env.observer.vocabulary.kinds).index("key"))
    graph_menu = row_of(env, "menu item", "2D Graph")  # disabled while the calculator is in front
    assert not can(env, "click", graph_menu) and not can(env, "click", row_of(env, "filler"))
    assert do(env, "click", graph_menu) == f"click cannot act on element {graph_menu} (menu item) now"

    assert do(env, "click", row_of(env, "menu item", "Session")) is None
    aim = env.discrete.joint()[0][list(VERBS).index("click")][: len(env.elements)]
    names = {env.elements[k].name for k in np.flatnonzero(aim)}
    assert {"Session", "New", "Quit", "Help"} <= names
    assert {env.elements[k].role for k in np.flatnonzero(aim)} == {"menu item"}
    assert not can(env, "submit", row_of(env, "text")) and not can(env, "type") and can(env, "done")
    assert do(env, "press", argument=env.observer.vocabulary.texts.index("esc")) is None

    assert do(env, "click", row_of(env, "page tab", "2D Graph")) is None
    end = time.monotonic() + 10.0  # on a busy machine the menu follows its tab late
    while not can(env, "click", row_of(env, "menu item", "2D Graph")) and time.monotonic() < end:
        assert do(env, "wait") is None
    assert can(env, "click", row_of(env, "menu item", "2D Graph"))
    items = [k for k, e in enumerate(env.elements) if e.role == "list item"]
    assert len(items) > 10 and not any(can(env, "click", k) for k in items)
    assert do(env, "click", row_of(env, "combo box")) is None
    items = [k for k, e in enumerate(env.elements) if e.role == "list item"]
    assert sum(can(env, "click", k) for k in items) > 10 and not can(env, "click", row_of(env, "page tab"))
    assert not can(env, "submit", row_of(env, "text"))
    assert do(env, "click", items[3]) is None
    items = [k for k, e in enumerate(env.elements) if e.role == "list item"]
    assert not any(can(env, "click", k) for k in items)  # closed, but with the places that they had
    assert can(env, "done") and not can(env, "type")  # the combo box has the focus
    assert do(env, "click", row_of(env, "text")) is None and can(env, "type")


@pytest.mark.sandbox
def test_what_the_masks_allow_can_be_done_in_kalgebra(kalgebra):
    env, rng = kalgebra, np.random.default_rng(0)
    env.reset(seed=1)
    quits = ("done", "fail", "answer", "wait")
    for _ in range(25):
        aim, say = env.discrete.joint()
        verbs = [k for k, verb in enumerate(env.discrete.verbs) if aim[k].any() and verb.name not in quits]
        verb = int(rng.choice(verbs))
        action = [verb, rng.choice(np.flatnonzero(aim[verb])), rng.choice(np.flatnonzero(say[verb]))]
        *_, truncated, info = env.step(np.array(action))
        assert "invalid_action" not in info and "fault" not in info and not truncated and env.performed


# --- docs/discrete.md


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_python_of_the_page_runs(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[3] / "docs" / "discrete.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    monkeypatch.syspath_prepend(tmp_path)
    names = {}
    for block in blocks:
        if block.startswith("# my_verbs.py"):
            (tmp_path / "my_verbs.py").write_text(block)
        else:
            exec(block, names)
    printed = capsys.readouterr().out
    assert "MultiDiscrete([ 3 96 16])" in printed and "1.0" in printed.splitlines()
    assert names["model"].num_timesteps == 8


def test_the_page_names_every_verb():
    page = (Path(__file__).parents[3] / "docs" / "discrete.md").read_text()
    assert all(f"`{verb}`" in page for verb in VERBS)
