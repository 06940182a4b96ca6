"""Metrics of notebooks."""

import base64
import copy
import json

import cv2
import numpy as np
import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from metric_scores import scores

from deskgym.task_suites.importers.spider2v.metrics import GoldBroken


def picture(shade: int) -> str:
    return base64.b64encode(cv2.imencode(".png", np.full((20, 30, 3), shade, np.uint8))[1].tobytes()).decode()


def code(source: str, *outputs: dict, count: int | None = 1) -> dict:
    return {"cell_type": "code", "source": source, "outputs": list(outputs), "execution_count": count, "metadata": {}}


def stream(text: object, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def value(text: str, count: int = 1, **data: str) -> dict:
    return {"output_type": "execute_result", "data": {"text/plain": text, **data}, "execution_count": count,
            "metadata": {}}  # fmt: skip


def notebook(*cells: dict) -> dict:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def file(data: dict) -> bytes:
    return json.dumps(data).encode()


GOLD = notebook(
    {"cell_type": "markdown", "source": ["# T\n", "x"], "metadata": {}},
    code("print(1)", stream(["1\n", "2\n"])),
    code("f()", value("<f at 0x7f0011aabb>", 2, **{"image/png": picture(80)}), count=2),
)
METRICS = ("compare_notebook_outputs", "compare_notebook_cells", "compare_ipynb_files")


def test_the_gold_is_right_and_nothing_is_wrong() -> None:
    for name in METRICS:
        assert scores(name, file(GOLD), file(GOLD)) == (1, 1)
        assert scores(name, b"", file(GOLD)) == scores(name, b"[]", file(GOLD)) == (0, 0)
        with pytest.raises(GoldBroken):
            scores(name, file(GOLD), b"")
    assert scores("compare_ipynb_files", b"{}", file(GOLD)) == (1, 0), "upstream stops with the shorter file"


def test_outputs_that_say_the_same() -> None:
    other = copy.deepcopy(GOLD)
    other["cells"][1]["outputs"] = [stream("1\n"), stream("careful", "stderr"), stream("2\n")]
    other["cells"][2]["outputs"][0] |= {"execution_count": 7}
    other["cells"][2]["outputs"][0]["data"] = {"text/plain": "<f at 0x7f9922ccdd>", "image/png": picture(82)}
    other["cells"].append(code("", count=None))
    assert scores("compare_notebook_outputs", file(other), file(GOLD)) == (0, 1)


@pytest.mark.parametrize(
    "outputs",
    [
        [],
        [stream("1\n3\n")],
        [stream("1\n2\n"), stream("x")],
        [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}],
    ],
)
def test_outputs_that_say_something_else(outputs) -> None:
    other = copy.deepcopy(GOLD)
    other["cells"][1]["outputs"] = outputs
    assert scores("compare_notebook_outputs", file(other), file(GOLD)) == (0, 0)
    assert scores("compare_ipynb_files", file(other), file(GOLD)) == (0, 0)
    assert scores("compare_notebook_cells", file(other), file(GOLD)) == (1, 1)


def test_a_picture_that_looks_different() -> None:
    for other in (picture(200), "no base64!", ""):
        changed = copy.deepcopy(GOLD)
        changed["cells"][2]["outputs"][0]["data"]["image/png"] = other
        assert scores("compare_notebook_outputs", file(changed), file(GOLD)) == (0, 0)


def test_sources() -> None:
    other = copy.deepcopy(GOLD)
    other["cells"][1]["source"] = "print(1)  \n"
    assert scores("compare_notebook_cells", file(other), file(GOLD)) == (0, 1)
    for change in ("print(2)", ""):
        other["cells"][1]["source"] = change
        assert scores("compare_notebook_cells", file(other), file(GOLD)) == (0, 0)
    assert scores("compare_notebook_cells", file(notebook(*GOLD["cells"][:2])), file(GOLD)) == (0, 0)


def test_what_was_run_and_what_was_cleared() -> None:
    rule = {"expected": []}
    run = notebook(code("a", stream("x")), code("b"))
    assert scores("is_jupyter_cell_executed", file(run), rule) == (1, 1)
    assert scores("is_jupyter_cell_executed", file(notebook(code("a"), code("b", count=None))), rule) == (0, 0)
    assert scores("is_jupyter_cell_executed", file(notebook(code("a"), code("", count=None))), rule) == (0, 1)
    assert scores("is_jupyter_cell_executed", file(notebook(code("b", count=None))), {"expected": [0]}) == (1, 1)
    assert scores("are_jupyter_outputs_cleared", file(run), rule) == (0, 0)
    assert scores("are_jupyter_outputs_cleared", file(notebook(code("a", count=None))), rule) == (1, 1)
    half = notebook(code("a", stream("x"), count=None))
    assert scores("are_jupyter_outputs_cleared", file(half), rule) == (1, 0), "upstream looks at the counts alone"


def test_an_old_notebook() -> None:
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["a\n", "b"], "outputs": []}]}]}
    assert scores("compare_notebook_cells", file(old), file(notebook(code("a\nb")))) == (1, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cells", "nbformat", "cell_type", "source", "outputs", "data"]), inner)
    ),
)


@hypothesis_given(JSON, JSON)
def test_no_notebook_raises(cells, outputs) -> None:
    for data in (cells, {"nbformat": 4, "cells": cells},
                 {"nbformat": 4, "cells": [{"cell_type": "code", "source": cells, "outputs": outputs}]}):  # fmt: skip
        for name in METRICS:
            assert set(scores(name, file(data), file(GOLD))) <= {0, 1}
        for name in ("is_jupyter_cell_executed", "are_jupyter_outputs_cleared"):
            assert set(scores(name, file(data), {"expected": [5]})) == {0}
