"""``compare_table`` on workbooks of our own."""

import io
from datetime import datetime
from random import Random

import openpyxl
import pandas
import pytest
from metric_scores import scores
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.formatting.rule import CellIsRule, FormulaRule
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle

from deskgym.task_suites.importers.spider2v.metrics import GoldBroken
from deskgym.task_suites.importers.spider2v.metrics.frames import frames_differ, read_frame
from deskgym.task_suites.importers.spider2v.metrics.workbooks import Workbook

ROWS = [
    ["Week", "Sales", "When", "Note"],
    [1, 10.25, datetime(2024, 5, 1, 8, 30), "a"],
    [2, 20, None, None],
    [3, 5, None, "N/A"],
]
DATA = [{"type": "sheet_data", "sheet_idx0": "RNSales", "sheet_idx1": "EI0"}]
STYLE = [{"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["font_color", "font_bold", "bgcolor"]}]


def saved(book: openpyxl.Workbook) -> bytes:
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def workbook(rows=ROWS, name="Sales", change=None) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = name
    for row in rows:
        sheet.append(row)
    if change is not None:
        change(sheet)
    return saved(book)


def changed(row: int, column: int, value: object) -> list[list[object]]:
    rows = [list(row) for row in ROWS]
    rows[row][column] = value
    return rows


def test_cells() -> None:
    gold = workbook()
    assert scores("compare_table", gold, gold, rules=DATA) == (1, 1)
    for other in (changed(1, 1, 10.26), changed(0, 1, "Sale"), ROWS[:3], changed(1, 2, datetime(2024, 5, 2))):
        assert scores("compare_table", workbook(other), gold, rules=DATA) == (0, 0), other
    assert scores("compare_table", workbook(changed(2, 0, "2 ")), gold, rules=DATA) == (1, 0), "a number to pandas"
    assert scores("compare_table", workbook(changed(1, 1, 10.250004)), gold, rules=DATA) == (1, 1)
    assert scores("compare_table", workbook(changed(3, 3, None)), gold, rules=DATA) == (1, 0), (
        "N/A is missing to pandas"
    )
    pair = [workbook(changed(3, 3, value)) for value in (0.00001, 0)]
    assert scores("compare_table", *pair, rules=DATA) == (0, 1), "pandas rounds no column of mixed kinds"


def test_sheets() -> None:
    gold = workbook()
    assert scores("compare_table", workbook(name="Sheet"), gold, rules=DATA) == (0, 0)
    first = [DATA[0] | {"sheet_idx0": 0}]
    assert scores("compare_table", workbook(name="Sheet"), gold, rules=first) == (1, 1)
    assert scores("compare_table", workbook(name="Sheet"), gold, rules=[{"type": "sheet_name"}]) == (0, 0)
    assert scores("compare_table", gold, gold, rules=[DATA[0] | {"sheet_idx0": "RI1"}]) == (0, 0)
    numbers = [DATA[0] | {"sheet_idx0": 0, "sheet_idx1": 0}]
    assert scores("compare_table", workbook(ROWS[:2]), gold, rules=numbers) == (1, 0), (
        "upstream compares it with itself"
    )
    for rule in ({"sheet_idx1": "EI1"}, {"sheet_idx1": "XY"}, {"sheet_idx1": "ENSheet9"}, {"type": "unheard of"}):
        with pytest.raises(GoldBroken):
            scores("compare_table", gold, gold, rules=[DATA[0] | rule])
    for rules in ([], [{"type": "sheet_data"}]):
        with pytest.raises(GoldBroken):
            scores("compare_table", gold, gold, rules=rules)
    with pytest.raises(GoldBroken):
        scores("compare_table", gold, b"PK", rules=DATA)


def test_junk() -> None:
    gold = workbook()
    for junk in (b"", gold[:-30], b"\xd0\xcf\x11\xe0"):
        assert scores("compare_table", junk, gold, rules=DATA) == (0, 0)


def charted(kind=BarChart, title="Total", legend="b", rows=4, direction="col"):
    def change(sheet) -> None:
        chart = kind()
        chart.add_data(Reference(sheet, min_col=2, min_row=2, max_row=rows))
        chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=rows))
        chart.title = title
        if legend is None:
            chart.legend = None
        else:
            chart.legend.position = legend
        if kind is BarChart:
            chart.barDir = direction
        sheet.add_chart(chart, "F2")

    return workbook(change=change)


def test_charts() -> None:
    rule = {"type": "chart", "sheet_idx0": 0, "sheet_idx1": "EI0", "chart_props": ["type", "title", "legend"]}
    gold = charted()
    assert scores("compare_table", gold, gold, rules=[rule]) == (1, 1)
    others = (charted(LineChart), charted(title="Totals"), charted(legend=None), charted(legend="r"), charted(rows=3),
              workbook())  # fmt: skip
    for other in others:
        assert scores("compare_table", other, gold, rules=[rule]) == (0, 0)
    bars = charted(direction="bar")
    assert scores("compare_table", bars, gold, rules=[rule]) == (1, 1)
    assert scores("compare_table", bars, gold, instruction="Plot a column chart.", rules=[rule]) == (1, 0)
    with pytest.raises(GoldBroken):
        scores("compare_table", gold, gold, rules=[rule | {"chart_props": ["shade"]}])


GREEN, RED = "FF00FF00", "FFFF0000"


def highlighted(row: int, color: str = GREEN):
    def change(sheet) -> None:
        sheet.cell(row, 2).font = Font(name="Calibri", sz=11, color=color)

    return workbook(change=change)


def test_looks() -> None:
    gold = highlighted(3)
    assert scores("compare_table", gold, gold, rules=STYLE) == (1, 1)
    for other in (highlighted(2), highlighted(3, RED), workbook()):
        assert scores("compare_table", other, gold, rules=STYLE) == (0, 0)

    def empty_but_bold(sheet) -> None:
        sheet.cell(3, 2).font = Font(name="Calibri", sz=11, color=GREEN)
        sheet.cell(9, 9).font = Font(bold=True)

    assert scores("compare_table", workbook(change=empty_but_bold), gold, rules=STYLE)[1] == 1

    def filled(sheet) -> None:
        sheet.cell(3, 2).font = Font(name="Calibri", sz=11, color=GREEN)
        sheet.cell(9, 9).fill = PatternFill("solid", RED)

    assert scores("compare_table", workbook(change=filled), gold, rules=STYLE) == (0, 0)


@pytest.mark.parametrize(
    ("formula", "right"),
    [("$B2=MAX($B$2:$B$4)", 1), ("B2=MIN($B$2:$B$4)", 0), ("B2>=20", 1), ("B2>10", 0), ("HOSTNAME()", 0)],
)
def test_a_conditional_format_looks_as_it_is_shown(formula, right) -> None:
    def change(sheet) -> None:
        style = DifferentialStyle(font=Font(color=GREEN))
        rule = FormulaRule([formula])
        rule.dxf = style
        sheet.conditional_formatting.add("B2:B4", rule)

    assert scores("compare_table", workbook(change=change), highlighted(3), rules=STYLE)[1] == right


@pytest.mark.parametrize(("kind", "limits", "right"), [("greaterThan", ["15"], 1), ("between", ["1", "11"], 0)])
def test_a_condition_on_values(kind, limits, right) -> None:
    def change(sheet) -> None:
        sheet.conditional_formatting.add("B2:B4", CellIsRule(kind, limits, font=Font(color=GREEN)))

    assert scores("compare_table", workbook(change=change), highlighted(3), rules=STYLE)[1] == right


def test_one_cell() -> None:
    def change(sheet) -> None:
        sheet["A1"].font = Font(bold=True, color="FFFFFFFF")
        sheet["A1"].fill = PatternFill("solid", "FF0000FF")

    wanted = {"bgcolor": "FF0000FF", "font_color": "FFFFFFFF", "font_bold": True, "value": "Week"}
    props = {name: {"method": "eq", "ref": ref} for name, ref in wanted.items()}
    rule = {"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": props}
    assert scores("compare_table", workbook(change=change), workbook(), rules=[rule]) == (1, 1)
    assert scores("compare_table", workbook(), workbook(), rules=[rule]) == (0, 0)
    assert scores("compare_table", workbook(change=change), workbook(), rules=[rule | {"coordinate": "Z9"}]) == (0, 0)


CELLS = [0, 1, -5, 2.5, 3.14159265, 1e-6, True, False, "a", "7", "1.5", "NA", " 3", "1e3", "x y", None, None,
         datetime(2024, 1, 2)]  # fmt: skip
HEADS = [["a", "a", "a"], ["a", None, "a"], ["a", "a.1", "a"], [1, 1, "1"], [None, None, True]]


@pytest.mark.filterwarnings("ignore:obj.round has no effect")
def test_what_pandas_finds_equal() -> None:
    random = Random(7)
    tables = [[head, [1, 2, 3]] for head in HEADS] + [[["a"], [None]], [["a", "b"]]]
    for _ in range(60):
        kinds = [random.sample(CELLS, random.randint(1, 4)) for _ in "abc"]
        rows = [[random.choice(kind) for kind in kinds] for _ in range(random.randint(1, 3))]
        others = [[random.choice([cell] * 4 + kind[:1]) for kind, cell in zip(kinds, row, strict=True)] for row in rows]
        tables += [[["a", "b", "c"], *rows], [["a", "b", "c"], *others]]
    book = openpyxl.Workbook()
    for number, table in enumerate(tables):
        sheet = book.create_sheet(f"T{number}")
        for row in table:
            sheet.append(row)
    read = Workbook.read(saved(book), "book")
    frames = [read_frame(read.sheet(f"T{number}"), 4) for number in range(len(tables))]
    golds = pandas.read_excel(io.BytesIO(saved(book)), sheet_name=None, engine="openpyxl")
    for number, frame in enumerate(frames):
        assert [column[0] for column in frame] == list(golds[f"T{number}"].columns), tables[number]
    equal = 0
    for number in range(1, len(tables)):
        pair = [golds[f"T{k}"].round(4) for k in (number - 1, number)]
        right = pair[0].equals(pair[1])
        assert (frames_differ(frames[number - 1], frames[number]) == "") == right, tables[number - 1 : number + 1]
        equal += right
    assert 10 < equal < 50
