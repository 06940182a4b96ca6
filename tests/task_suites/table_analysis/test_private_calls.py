"""Which private functions a code calls."""

from __future__ import annotations

import pytest

from deskgym.task_suites.table_analysis.private import called, make_library, recall

LIBRARY = make_library(1, ["a = t.mean()", "b = t.median()"], decoys=0)
F, G = (
    LIBRARY.translate(f"x = t.{name}()").split("x = ")[1].split("(")[0].split(".")[1] for name in ("mean", "median")
)
M, ALIAS = LIBRARY.module, LIBRARY.alias


def calls(code: str) -> set[str]:
    text = code.replace("MODULE", M).replace("ALIAS", ALIAS).replace("FF", F).replace("GG", G)
    return {{F: "F", G: "G"}[name] for name in called(text, LIBRARY)}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import MODULE\nMODULE.FF(t)", "F"),
        ("import MODULE as x\nx.FF(x.GG(t))", "FG"),
        ("from MODULE import FF as g\ng(t)", "F"),
        ("from MODULE import *\nFF(t)", "F"),
        ("import MODULE\nh = MODULE.FF\nh(t)", "F"),
        ("import MODULE as x\ny = x\na, b = y.FF, y.GG\nb(t)", "G"),
        ("ALIAS.FF(t)", "F"),
        ("import MODULE\ngetattr(MODULE, 'FF')(t)", "F"),
        ("import MODULE as m\nt.apply(m.FF)", "F"),
        ("import MODULE as m\nt.agg({'a': m.FF, 'b': [m.GG]})", "FG"),
        ("import MODULE as m\nt.apply(lambda x: m.FF(x))", "F"),
        ("import MODULE as m\nh = lambda x: m.FF(x)\nh(t)", "F"),
        ("import MODULE as m\ndef h(x):\n    return m.FF(x)\n[h(x) for x in t]", "F"),
        ("import MODULE as m\ndef h(x):\n    def k(y):\n        return m.GG(y)\n    return m.FF(x)\nh(t)", "F"),
        ("import MODULE as m\nif t:\n    m.FF(t)\nelse:\n    m.GG(t)", "FG"),
        ("import MODULE as m\ntry:\n    m.FF(t)\nexcept ValueError:\n    m.GG(t)", "FG"),
        ("import MODULE as m\nclass A:\n    def h(self):\n        m.FF(t)\nA().h()", "F"),
        ("import MODULE as m\nx = m.FF(t) if t else m.GG(t)", "FG"),
        ("def h():\n    from MODULE import FF\n    return FF(t)\nh()", "F"),
        ("import MODULE as m\nwith open(m.FF(t)) as f:\n    while m.GG(t):\n        break", "FG"),
        ("import MODULE as m\nx = f'{m.FF(t)}'\n(y := m.GG)(t)", "FG"),
        ("import MODULE as m\ndef h(x):\n    return h(x - 1) + m.FF(x)\nh(3)", "F"),
    ],
)
def test_calls_are_found(code: str, found: str) -> None:
    assert calls(code) == set(found)


@pytest.mark.parametrize(
    "code",
    [
        "from MODULE import FF, GG",
        "FF(t)",
        "import MODULE as m\nm.FF",
        "import MODULE as m\nprint(m.FF)",
        "import MODULE as m\nif False:\n    m.FF(t)",
        "import MODULE as m\nif not 1:\n    m.FF(t)\nelif 0:\n    m.GG(t)",
        "import MODULE as m\nwhile 0:\n    m.FF(t)",
        "import MODULE as m\nfor _ in []:\n    m.FF(t)",
        "import MODULE as m\nFalse and m.FF(t)",
        "import MODULE as m\nx = 1 if True else m.FF(t)",
        "import MODULE as m\n[m.FF(x) for x in ()]",
        "import MODULE as m\ndef h():\n    m.FF(t)",
        "import MODULE as m\nh = lambda: m.FF(t)",
        "import MODULE as m\ndef h():\n    return 1\n    m.FF(t)\nh()",
        "import MODULE as m\ntry:\n    pass\nexcept Exception:\n    m.FF(t)",
        "from MODULE import FF\nFF = len\nFF(t)",
        "import MODULE as m\nm = t\nm.FF(t)",
        "import other as m\nm.FF(t)",
        "from MODULE import FF\ndef h(FF):\n    return FF(t)\nh(len)",
        "import MODULE as m\nm.FF(t",
        "'ALIAS.FF(t)'  # ALIAS.FF(t)",
        "import MODULE as m\nraise ValueError\nm.FF(t)",
    ],
)
def test_what_is_not_called_does_not_count(code: str) -> None:
    assert calls(code) == set()


def test_recall_is_the_share_of_the_reference() -> None:
    reference = f"x = {ALIAS}.{F}({ALIAS}.{G}(t))"
    assert recall(reference, [reference], LIBRARY) == 1.0
    assert recall(reference, [f"import {M}", f"{M}.{F}(t)"], LIBRARY) == 0.5
    assert recall(reference, ["x = (", f"from {M} import {F}, {G}\n{G}(t)", f"{F}(t)"], LIBRARY) == 1.0
    assert recall(reference, [], LIBRARY) == 0.0
    assert recall(reference, ["x = t.median().mean()"], LIBRARY) == 0.0
    assert recall(f"{ALIAS}.{F}(t)", [reference], LIBRARY) == 1.0


def test_what_a_trace_does_not_have_was_not_called() -> None:
    reference = f"x = {ALIAS}.{F}({ALIAS}.{G}(t))"
    assert recall(reference, [reference], LIBRARY, ran=[F, G]) == 1.0
    assert recall(reference, [reference], LIBRARY, ran=[G, "other"]) == 0.5
    assert recall(reference, [reference], LIBRARY, ran=[]) == 0.0
    assert recall(reference, [f"{ALIAS}.{F}(t)"], LIBRARY, ran=[F, G]) == 0.5


def test_a_function_that_was_asked_for_counts_as_called() -> None:
    reference = f"def low(t):\n    return {ALIAS}.{F}(t)"
    assert recall(reference, [reference], LIBRARY) == 1.0
    assert recall(reference, [f"low = lambda t: {ALIAS}.{F}(t)"], LIBRARY) == 1.0
    assert recall(reference, [f"def high(t):\n    return {ALIAS}.{F}(t)"], LIBRARY) == 0.0
    with pytest.raises(ValueError, match="calls no function"):
        recall(reference, [reference], LIBRARY, results=())


def test_names_of_earlier_codes_hold_and_their_calls_do_not_count() -> None:
    before = [f"import {M} as old\nold.{G}(t)\ndef h(t):\n    return old.{F}(t)\nh(t)"]
    assert called("h(t)", LIBRARY, before=before) == {F}
    assert called(f"old.{F}(t)", LIBRARY, before=before) == {F}
    assert called(f"old.{F}(t)", LIBRARY) == frozenset()
