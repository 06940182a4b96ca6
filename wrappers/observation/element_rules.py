"""Which accessible elements are shown to an agent: the published benchmarks' rules and our own.

The benchmarks filter an XML tree of AT-SPI nodes; here the same rules run on the rows of ``DesktopEnv.elements``, which
hold what is SHOWING and VISIBLE already. Three things that they read are not in a row, and the nearest stands for each:

=====================================  ===============================================================================
the benchmark reads                    here
=====================================  ===============================================================================
state ``checkable``                    the roles of ``CHECKABLE_ROLES``
attribute ``image="true"`` (the        the roles ``image`` and ``icon``; a nameless button that shows an icon, which
element has AT-SPI's Image interface)  GTK gives that interface too, is therefore left out
text of the Text interface alone       that text, or where there is none the Value interface's number
=====================================  ===============================================================================
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.action.element_masks import ElementMasks
from deskgym.envs.errors import near
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.observation.elements import Elements

PRESETS = ("deskgym", "spider2v", "scienceboard")
"""``deskgym`` is our own; ``spider2v`` is Spider2-V's ``judge_node`` (mm_agents/accessibility_tree_wrap); ScienceBoard
took the same rule from OSWorld (sci/vm/utils.py)."""

CHECKABLE_ROLES = frozenset({"check box", "check menu item", "radio button", "radio menu item"})

READABLE_ROLES = frozenset(
    {
        "alert", "block quote", "caption", "comment", "description term", "description value", "footnote", "heading",
        "info bar", "label", "level bar", "log", "math", "notification", "paragraph", "progress bar", "static",
        "status bar", "title bar", "tool tip",
    }
)  # fmt: skip
"""AT-SPI roles that a person reads and does not act on."""

_BENCHMARK_ENDS = (
    "item", "button", "heading", "label", "scrollbar", "searchbox", "textbox", "link", "tabelement", "textfield",
    "textarea", "menu",
)  # fmt: skip
_BENCHMARK_TAGS = frozenset(
    {
        "alert", "canvas", "check-box", "combo-box", "entry", "icon", "image", "paragraph", "scroll-bar", "section",
        "slider", "static", "table-cell", "terminal", "text",
    }
)  # fmt: skip
"""Spider2-V's list less the tags that only its Windows tree has."""

_TAG = re.compile(r"[a-z][a-z0-9-]*")
_BIT = {name: 1 << k for k, name in enumerate(STATE_BITS)}
_BENCHMARK_STATES = _BIT["enabled"] | _BIT["editable"] | _BIT["expandable"]


def check_preset(preset: str) -> str:
    """Return the preset's name.

    Raises:
        ValueError: there is none of that name.
    """
    if preset not in PRESETS:
        raise ValueError(f"preset={preset!r}; legal are {', '.join(PRESETS)}{near(preset, PRESETS)}")
    return preset


@lru_cache(maxsize=512)
def tag(role: str) -> str:
    """A role name as the benchmarks' XML tag (Spider2-V server/main.py): spaces become hyphens, a blank is ``unknown``.

    Examples:
        >>> tag("push button"), tag("")
        ('push-button', 'unknown')
    """
    name = role.strip().replace(" ", "-")
    return name if _TAG.fullmatch(name) else "unknown"


def kept_rows(elements: Elements, size: tuple[int, int], preset: str, images: bool = True) -> NDArray[np.intp]:
    """The numbers of the rows that a preset keeps, in document order.

    Args:
        elements: the screen's elements.
        size: width and height of the screen in pixels.
        preset: one of ``PRESETS``.
        images: for the benchmarks' presets, keep images without a name and text too (their ``check_image``).

    Returns:
        intp (K,), ascending.
    """
    keep = _ours(elements, size) if preset == "deskgym" else _benchmarks(elements, images)
    return np.flatnonzero(keep)


def _benchmarks(elements: Elements, images: bool) -> NDArray[np.bool_]:
    """A tag of the list, able to do something, with a name or a text, and not beginning left of or above the screen."""
    rows, texts = elements.rows, elements.texts
    listed = np.fromiter((_listed(row[0]) for row in texts), bool, len(rows))
    able = (rows[:, 5] & _BENCHMARK_STATES) != 0
    able |= np.fromiter((row[0] in CHECKABLE_ROLES for row in texts), bool, len(rows))
    says = np.fromiter(
        (bool(row[1] or row[2]) or (images and row[0] in ("image", "icon")) for row in texts), bool, len(rows)
    )
    placed = (rows[:, :2] >= 0).all(axis=1) & (rows[:, 2:4] > 0).all(axis=1)
    return np.asarray(listed & able & says & placed, bool)


@lru_cache(maxsize=512)
def _listed(role: str) -> bool:
    name = tag(role)
    return name.startswith("document") or name.endswith(_BENCHMARK_ENDS) or name in _BENCHMARK_TAGS


def _ours(elements: Elements, size: tuple[int, int]) -> NDArray[np.bool_]:
    """What can be reached (``ElementMasks.reachable``), and clicked, edited or read; no label twice."""
    masks = ElementMasks(elements, size)
    acts = masks.clickable | masks.editable
    says = np.fromiter((bool(row[1] or row[2]) for row in elements.texts), bool, len(elements))
    reads = masks.reachable & masks.role(READABLE_ROLES) & says & ~acts
    parents = elements.rows[:, 6]
    for k in np.flatnonzero(reads).tolist():
        parent = int(parents[k])
        if 0 <= parent < k and acts[parent] and elements.texts[parent][1] == elements.texts[k][1]:
            reads[k] = False
    return np.asarray(acts | reads, bool)
