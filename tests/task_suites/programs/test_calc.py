"""LibreOffice Calc: its sheets, its first screen, and one task in a real sandbox."""

import io
import re
import time
import zipfile
from collections import Counter

import gymnasium as gym
import openpyxl
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.calc import functions
from deskgym.task_suites.programs.calc.program import workbook

SHEETS = ["First", "Second"]


@pytest.mark.parametrize("seed", range(5))
def test_orders_are_drawn_by_the_seed(seed):
    table = functions.orders(seed)
    assert table == functions.orders(seed) != functions.orders(seed + 1)
    prices = functions.column(table, "Price")
    assert len(set(prices)) == len(prices) == 16


def test_what_is_right_to_do_with_orders():
    table = [["Region", "Units", "Price"], ["South", 2, 5], ["North", 1, 7], ["South", 3, 1]]
    assert functions.product(table, ["Units", "Price"]) == [10, 7, 3]
    assert functions.ordered(table, "Price", descending=True)[1] == ["North", 1, 7]
    assert functions.sums(table, "Region", "Units") == [["North", 1], ["South", 5]]
    assert functions.others(table, "Region", "South") == [3]
    assert functions.looked_up(table, "Region", [["", ""], ["North", "n"], ["South", "s"]]) == ["s", "n", "s"]


def test_a_list_needs_tidying_and_keeps_its_names():
    table = functions.untidy(4)
    assert functions.tidy(table) != functions.column(table, "Customer")
    assert set(functions.tidy(table)) <= set(functions.NAMES)


def test_a_workbook_holds_the_sheets_in_order():
    book = openpyxl.load_workbook(io.BytesIO(workbook({name: [["A", "B"], [1, "x"]] for name in SHEETS})))
    assert book.sheetnames == SHEETS
    assert [[cell.value for cell in row] for row in book["Second"]] == [["A", "B"], [1, "x"]]
    assert book["First"]["A1"].font.bold and not book["First"]["A2"].font.bold


@pytest.mark.sandbox
def test_a_task_from_its_first_screen_to_its_verdict():
    env = gym.make("deskgym/DataEngineering-v0", task="calc/formula-column", screen_size=(1280, 720), max_steps=60)
    try:
        env.reset(seed=5)
        inner = env.unwrapped
        roles = Counter(element.role for element in inner.screen.find_all())
        assert roles["frame"] == 1 and not roles["dialog"] and not roles["alert"]
        assert inner.screen.find(role="table cell", name="A1").text == "Order"
        assert _play(env, iter([inner.done]))["score"] == 0
        env.reset(seed=5)
        assert _play(env, inner.oracle())["score"] == 1
    finally:
        env.close()


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(("old", "score"), [(None, 1), (rb'(<c r="B3"[^>]*>)<v>[^<]*</v>', 0)])
def test_a_pivot_table_whose_cells_were_written_over(old, score):
    path = "/home/user/orders.xlsx"
    env = gym.make("deskgym/DataEngineering-v0", task="calc/pivot", screen_size=(1280, 720), max_steps=60)

    def forged(data):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
            for name in source.namelist():
                content, found = source.read(name), 0
                if name == "xl/worksheets/sheet2.xml" and old is not None:
                    content, found = re.subn(old, rb"\1<v>999</v>", content)
                    assert found == 1
                target.writestr(name, content)
        return out.getvalue()

    def saved(machine, before):
        until = time.monotonic() + 30
        while (data := machine.get(path)) == before or not zipfile.is_zipfile(io.BytesIO(data)):
            assert time.monotonic() < until
            time.sleep(0.05)
        return data

    def script(inner):
        before = inner.machine.get(path)
        for action in inner.oracle():
            if str(action) == str(inner.done):
                inner.machine.put(path, forged(saved(inner.machine, before)))
            yield action

    try:
        env.reset(seed=3)
        assert _play(env, script(env.unwrapped))["score"] == score
    finally:
        env.close()


def _play(env, script):
    for action in script:
        *_, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return info["verdict"]
    raise AssertionError("the script ended before the episode")
