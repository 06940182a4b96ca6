"""The rules that choose elements, against the published one written out on the XML tree."""

import ast
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.guest.accessibility.node import ROLES
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.wrappers.observation.element_rules import PRESETS, check_preset, kept_rows, tag
from deskgym.wrappers.observation.element_text import NAMESPACES, Xml

SIZE = (640, 480)
ON = ("enabled", "sensitive", "showing", "visible")


def bits(*names):
    return sum(1 << STATE_BITS.index(name) for name in names)


def screen(*items):
    """Elements of (role, name, text, box, states, parent), the last two with defaults."""
    rows, texts = [], []
    for role, name, text, box, *rest in items:
        states, parent = (*rest, *(ON, -1)[len(rest) :])
        rows.append((*box, ROLES.index(role) if role in ROLES else 0, bits(*states), parent, 0))
        texts.append((role, name, text, ""))
    return Elements(np.array(rows, np.int32).reshape(-1, 8), texts)


def published(node, images=True):
    """Spider2-V's judge_node for Ubuntu, from the study's text (section 2.4)."""
    state, component = (f"{{{NAMESPACES['spider2v'].format(space)}}}" for space in ("state", "component"))
    ends = "item button heading label scrollbar searchbox textbox link tabelement textfield textarea menu"
    listed = (
        "alert canvas check-box combo-box entry icon image paragraph scroll-bar section slider static table-cell "
        "terminal text"
    )
    x, y = ast.literal_eval(node.get(component + "screencoord"))
    w, h = ast.literal_eval(node.get(component + "size"))
    return (
        (node.tag.startswith("document") or node.tag.endswith(tuple(ends.split())) or node.tag in listed.split())
        and all(node.get(state + name) == "true" for name in ("showing", "visible"))
        and any(node.get(state + name) == "true" for name in ("enabled", "editable", "expandable"))
        and bool(node.get("name") or node.text or (images and node.tag in ("image", "icon")))
        and min(x, y) >= 0
        and min(w, h) > 0
    )


UNCHECKABLE = [
    role for role in ROLES if role not in ("check box", "check menu item", "radio button", "radio menu item")
]
ITEM = st.tuples(
    st.sampled_from(UNCHECKABLE),
    st.sampled_from(["", "OK"]),
    st.sampled_from(["", "a text"]),
    st.tuples(st.integers(-5, 600), st.integers(-5, 400), st.integers(0, 80), st.integers(0, 80)),
    st.sets(st.sampled_from(["enabled", "editable", "expandable", "sensitive", "focused"])).map(
        lambda states: ("showing", "visible", *states)
    ),
)


@given(st.lists(ITEM, max_size=12), st.booleans())
def test_the_seeds_rule_is_the_published_one(items, images):
    elements = screen(*items)
    tree = ET.fromstring(Xml(elements, range(len(items)), "spider2v").text(len(items)))
    right = [k for k, node in enumerate(tree) if published(node, images)]
    for preset in ("spider2v", "scienceboard"):
        assert kept_rows(elements, SIZE, preset, images).tolist() == right


def test_a_disabled_check_box_is_checkable():
    elements = screen(
        ("check box", "Grid", "", (9, 9, 20, 20), ("showing", "visible")),
        ("push button", "Off", "", (9, 40, 20, 20), ("showing", "visible")),
    )
    assert kept_rows(elements, SIZE, "spider2v").tolist() == [0]


def test_ours_keeps_what_can_be_reached_and_used_or_read():
    elements = screen(
        ("frame", "Main", "", (0, 0, 640, 480)),
        ("text", "", "", (10, 10, 100, 20), (*ON, "editable"), 0),  # they leave out a field without name and text
        ("push button", "OK", "", (10, 40, 60, 20), ON, 0),
        ("label", "OK", "", (12, 42, 50, 16), ON, 2),  # says what its button says
        ("label", "Total: 3", "", (10, 70, 60, 16), ON, 0),
        ("label", "", "", (10, 90, 60, 16), ON, 0),
        ("push button", "Off", "", (10, 110, 60, 20), ("showing", "visible"), 0),
        ("push button", "Far", "", (630, 110, 60, 20), ON, 0),  # its middle is off the screen
        ("filler", "x", "", (10, 130, 60, 20), ON, 0),
    )
    assert kept_rows(elements, SIZE, "deskgym").tolist() == [1, 2, 4]
    assert kept_rows(elements, SIZE, "spider2v").tolist() == [2, 3, 4, 7]


def test_ours_leaves_out_what_a_modal_window_keeps_from_input():
    elements = screen(
        ("frame", "Main", "", (0, 0, 640, 480)),
        ("push button", "Behind", "", (10, 40, 60, 20), ON, 0),
        ("dialog", "Sure?", "", (100, 100, 200, 100), (*ON, "modal")),
        ("push button", "Yes", "", (110, 140, 60, 20), ON, 2),
    )
    assert kept_rows(elements, SIZE, "deskgym").tolist() == [3]


@pytest.mark.parametrize("preset", PRESETS)
def test_no_elements(preset):
    assert kept_rows(NO_ELEMENTS, SIZE, preset).tolist() == []


def test_tags_and_presets():
    assert [tag(role) for role in ("push button", "", " ", "<evil/>")] == ["push-button", *["unknown"] * 3]
    with pytest.raises(ValueError, match="did you mean 'spider2v'"):
        check_preset("spider-2v")
