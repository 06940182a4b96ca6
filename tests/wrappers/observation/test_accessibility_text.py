"""AccessibilityText: the benchmarks' tables and XML, budgets that hold, and what tiktoken's absence says."""

import json
import re
import sys
import time
import types
import warnings
import xml.etree.ElementTree as ET

import gymnasium as gym
import numpy as np
import pytest
from fake_suite import FakeSource
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st
from test_element_rules import ON, screen

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import GuestLost
from deskgym.wrappers import AccessibilityText
from deskgym.wrappers.observation.element_rules import PRESETS
from deskgym.wrappers.observation.element_text import Xml, table
from deskgym.wrappers.observation.text_budget import estimated_tokens, longest, measure

SIZE = (160, 120)
HEADERS = {
    "deskgym": "index\trole\tname\ttext\tposition\tsize\tstates",
    "spider2v": "TAG\tNAME\tPOSITION (top-left x & y)\tSIZE (width & height)\tTEXT",
    "scienceboard": "tag\tname\ttext\tclass\tdescription\tposition (top-left x&y)\tsize (w&h)",
}


def fake(**options):
    return DesktopEnv(
        FakeSource(), **({"machine": "fake", "screen_size": SIZE, "observation": ("screenshot",)} | options)
    )


def build(**options):
    return AccessibilityText(fake(), **options)


gym.register("test/AccessibilityText-v0", entry_point=fake, nondeterministic=True)


def many(count):
    """A window with ``count`` buttons in groups of ten."""
    items = [("frame", "Main", "", (0, 0, 160, 120))]
    group = 0
    for k in range(count):
        if k % 10 == 0:
            group = len(items)
            items.append(("document text", f"Group {k}", "a\tb\n<&>\x00", (0, 0, 160, 120), ON, 0))
        items.append(("push button", f"Button {k}", "", (k % 150, 5, 8, 8), ON, group))
    return screen(*items)


# --- forms


def test_spider2v_table():
    elements = screen(
        ("push button", "O\tK", " it's \n", (1, 2, 3, 4)), ("text", "", "", (5, 6, 7, 8), (*ON, "editable"))
    )
    assert table(elements, [0, 1], "spider2v") == [
        HEADERS["spider2v"], "push-button\tO K\t(1, 2)\t(3, 4)\t\"it's\"", "text\t\t(5, 6)\t(7, 8)\t''",
    ]  # fmt: skip
    assert table(elements, [1], "spider2v", marks=True) == [
        "INDEX\t" + HEADERS["spider2v"],
        "1\ttext\t\t(5, 6)\t(7, 8)\t''",
    ]


def test_scienceboard_tables():
    elements = screen(("push button", "OK", "", (1, 2, 3, 4)), ("text", "t", 'a "b"\nc', (5, 6, 7, 8)))
    assert table(elements, [0, 1], "scienceboard") == [
        HEADERS["scienceboard"], 'push-button\tOK\t""\t\t\t(1, 2)\t(3, 4)', 'text\tt\t"a ""b""⏎c"\t\t\t(5, 6)\t(7, 8)',
    ]  # fmt: skip
    assert table(elements, [1], "scienceboard", marks=True) == ["index\ttag\tname\ttext", '1\ttext\tt\t"a ""b""⏎c"']


def test_our_table_is_the_a11y_observation_of_the_kept_rows():
    env = build()
    observation, _ = env.reset(seed=1)
    lines = env.desktop.elements.text().split("\n")
    assert observation["a11y"].split("\n") == [lines[0], lines[2], lines[3]]  # not the frame
    assert table(env.desktop.elements, range(3), "deskgym") == lines


@pytest.mark.parametrize("preset", PRESETS)
def test_a_name_of_several_lines_is_one_row(preset):
    elements = screen(("push button", "a\nb\rc\u2028d\x85e", "f\ng", (1, 2, 3, 4)))
    assert all(len(table(elements, [0], preset, marks=marks)[1].splitlines()) == 1 for marks in (False, True))


def test_xml_nests_by_parent_and_carries_states_and_places():
    elements = screen(
        ("frame", "Main", "", (0, 0, 160, 120)),
        ("filler", "", "", (0, 0, 160, 120), ON, 0),
        ("push button", 'A "quoted" <name>', "x < y", (1, 2, 3, 4), (*ON, "focused"), 1),
        ("label", "after", "", (5, 6, 7, 8), ON, 0),
        ("frame", "Other", "", (0, 0, 9, 9)),
    )
    root = ET.fromstring(Xml(elements, [0, 2, 3, 4], "spider2v").text(4))
    main, other = root
    button, label = main
    assert (root.tag, main.get("name"), other.get("name")) == ("desktop-frame", "Main", "Other")
    assert (button.tag, button.get("name"), button.text, label.get("name")) == (
        "push-button", 'A "quoted" <name>', "x < y", "after",
    )  # fmt: skip
    states = {name.split("}")[1] for name in button.attrib if name.startswith("{uri:deskat:state.at-spi.gnome.org}")}
    assert states == {*ON, "focused"}
    assert button.get("{uri:deskat:component.at-spi.gnome.org}screencoord") == "(1, 2)"
    assert button.get("{uri:deskat:component.at-spi.gnome.org}size") == "(3, 4)"
    ours = ET.fromstring(Xml(elements, [2], "scienceboard").text(1))[0]
    assert ours.get("{https://accessibility.ubuntu.example.org/ns/component}size") == "(3, 4)"


TEXT = st.text(st.characters(), max_size=8)


@given(
    st.lists(st.tuples(st.sampled_from(["frame", "text", "push button"]), TEXT, TEXT, st.integers(-1, 9)), max_size=9)
)
def test_xml_is_well_formed_at_every_cut(items):
    elements = screen(
        *((role, name, text, (1, 2, 3, 4), ON, min(up, k - 1)) for k, (role, name, text, up) in enumerate(items))
    )
    xml = Xml(elements, range(len(items)), "deskgym")
    for count in range(len(items) + 1):
        root = ET.fromstring(xml.text(count, "[...]").encode())
        assert len(list(root.iter())) == count + 1


# --- budgets


@pytest.mark.parametrize("form", ["table", "xml"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("budget", "unit"), [(700, "characters"), (1500, "characters"), (400, "tokens")])
def test_a_budget_is_kept_used_and_cut_at_a_row(form, preset, budget, unit):
    env = build(form=form, preset=preset, budget=budget, unit=unit)
    elements = many(100)
    whole, text = build(form=form, preset=preset).text(elements), env.text(elements)
    size = measure(unit)
    assert size(text) <= budget < size(whole)
    ending = r"\[\d+ more rows\]" if preset == "deskgym" else r"\[\.\.\.\]"
    if form == "xml":
        kept = [node.get("name") for node in ET.fromstring(text).iter() if node.get("name")]
        names = [node.get("name") for node in ET.fromstring(whole).iter() if node.get("name")]
        assert re.search(f"\n<!-- {ending} -->\n</desktop-frame>$", text)
        row = max(size(line) for line in whole.split("\n")) + size("</document-text>")
    else:
        kept, names = text.split("\n")[:-1], whole.split("\n")
        assert re.fullmatch(ending, text.split("\n")[-1])
        if preset == "deskgym":
            assert text.endswith(f"[{len(names) - len(kept)} more rows]")
        row = max(map(size, names))
    assert kept == names[: len(kept)] and size(text) > budget - 2 * row - 2


def test_what_fits_is_whole():
    elements = many(20)
    whole = build(preset="spider2v").text(elements)
    assert "[...]" not in whole and len(whole.split("\n")) == 23
    assert build(preset="spider2v", budget=len(whole)).text(elements) == whole
    assert build(preset="spider2v", budget=len(whole) - 1).text(elements) != whole


def test_the_space_holds_without_a_budget():
    elements = screen(*[("push button", "n" * 150, "", (1, 2, 3, 4))] * 500)
    text = build(preset="spider2v").text(elements)
    assert len(text) <= 65536 and text.endswith("\n[...]")


@given(st.integers(0, 40), st.integers(0, 60))
def test_longest_is_the_longest(count, limit):
    found = longest(count, lambda k: "x" * (k + 3), lambda text: len(text) <= limit)
    assert len(found) == max(3, min(count + 3, limit))


def test_estimated_tokens_are_additive_over_lines():
    lines = ["push-button\tOK\t(512, 344)\n", "Größe 日本語 \t x_1\n", "\n", "end"]
    assert estimated_tokens("".join(lines)) == sum(map(estimated_tokens, lines))
    assert estimated_tokens("") == 0 and 2 <= estimated_tokens("hello world") <= 3


def test_no_tiktoken(monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ValueError, match="pip install tiktoken, or use unit='tokens'"):
        build(budget=5000, unit="tiktoken:gpt-4")


def stand_in(monkeypatch, encoding_for_model):
    """tiktoken is not among our packages: a module with the two names that are used of it."""
    monkeypatch.setitem(sys.modules, "tiktoken", types.SimpleNamespace(encoding_for_model=encoding_for_model))


def test_tiktoken_without_its_file(monkeypatch):
    def offline(model):
        raise ConnectionError("no route to host")

    stand_in(monkeypatch, offline)
    with pytest.raises(ValueError, match="(?s)no route to host.*TIKTOKEN_CACHE_DIR"):
        build(budget=5000, unit="tiktoken:gpt-4")


def test_tiktoken_counts(monkeypatch):
    words = types.SimpleNamespace(encode_ordinary=lambda text: re.findall(r"\w+|\W", text))
    stand_in(monkeypatch, lambda model: words)
    text = build(preset="spider2v", budget=300, unit="tiktoken:gpt-4").text(many(50))
    assert 250 < len(words.encode_ordinary(text)) <= 300 and text.endswith("[...]")


# --- the wrapper


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "yaml"}, "legal are table, xml"),
        ({"preset": "osworld"}, "legal are deskgym, spider2v, scienceboard"),
        ({"unit": "words"}, "legal are 'characters'"),
        ({"budget": 20}, "the text without any row"),
        ({"budget": 100, "form": "xml"}, "the text without any row"),
        ({"part": "screenshot"}, "is no text"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build(**options)


@pytest.mark.parametrize("options", [{}, {"form": "xml", "preset": "spider2v", "part": "tree"}, {"budget": 120}])
def test_check_env_has_nothing_to_say(options):
    env = AccessibilityText(gym.make("test/AccessibilityText-v0").unwrapped, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        check_env(env)
    env.close()


def test_it_replaces_or_adds_and_leaves_the_rest():
    inner = fake(observation=("a11y", "instruction"))
    env = AccessibilityText(AccessibilityText(inner, preset="spider2v"), form="xml", part="tree")
    observation, _ = env.reset(seed=1)
    assert [*observation] == ["a11y", "instruction", "tree"] and observation in env.observation_space
    assert observation["a11y"].startswith(HEADERS["spider2v"]) and observation["tree"].startswith("<desktop-frame")
    observation, *_ = env.step({"action": "wait", "seconds": 0})
    assert "Pressed 0" in observation["a11y"] and 'name="Pressed 0"' in observation["tree"]


def test_a_broken_machine_has_no_text():
    env = build()
    env.reset(seed=1)

    def lost(*arguments, **options):
        raise GuestLost("gone")

    env.desktop.machine.display.carry_out = lost
    observation, _, _, truncated, info = env.step({"action": "wait", "seconds": 0})
    assert truncated and "fault" in info and observation["a11y"] == ""


def test_its_spec_builds_it_again():
    env = AccessibilityText(gym.make("deskgym/Science-v0"), preset="spider2v", budget=500, unit="tokens")
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(env.spec.to_json()) == json.loads(again.spec.to_json())
    assert (again.preset, again.budget, again.form) == ("spider2v", 500, "table")


def test_async_vector_env():
    envs = AsyncVectorEnv([build, build])
    try:
        observations, _ = envs.reset(seed=1)
        assert all(text.startswith(HEADERS["deskgym"]) for text in observations["a11y"])
    finally:
        envs.close()


def test_300_rows_take_a_few_ms():
    elements = many(272)
    for options in ({"form": "xml"}, {"preset": "spider2v", "budget": 3000, "unit": "tokens"}):
        env = build(**options)
        env.text(elements)
        taken = []
        for _ in range(20):
            start = time.process_time()
            env.text(elements)
            taken.append((time.process_time() - start) * 1000)
        assert np.median(taken) < 10, options


@pytest.mark.sandbox
def test_kalgebra():
    inner = gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", observation=("a11y",), screen_size=(1280, 720))
    env = AccessibilityText(
        AccessibilityText(inner, part="ours"), form="xml", preset="spider2v", part="tree", budget=4000
    )
    try:
        observation, _ = env.reset(seed=3)
        ours = [line.split("\t") for line in observation["ours"].split("\n")[1:]]
        assert {"page tab", "text", "table cell"} <= {row[1] for row in ours}
        for index, role, *_ in ours:
            assert env.desktop.elements[int(index)].role == role
        names = [node.get("name") for node in ET.fromstring(observation["tree"]).iter("menu-item")]
        assert "Session" in names and len(observation["tree"]) <= 4000
    finally:
        env.close()
