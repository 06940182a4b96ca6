"""What an agent may leave in a workbook to be paid for nothing: each is a fail, and none an error."""

import io
import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.drawing.spreadsheet_drawing import AnchorMarker, TwoCellAnchor
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.formula import ArrayFormula
from test_hostile_tables import changed
from test_sheet import PATH, made, run

from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import Check, CheckFailed
from deskgym.task_suites.core.registry import Registry

RULE = {"range": "B2:B4", "type": "cellIs", "operator": "greaterThan", "values": [90], "has": {"fill": "#00ff00"}}
EXCEL_2010 = (
    '<extLst><ext uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}" '
    'xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"><x14:conditionalFormattings>'
    '<x14:conditionalFormatting><x14:cfRule type="cellIs" priority="1" operator="lessThan"/>'
    "</x14:conditionalFormatting></x14:conditionalFormattings></ext></extLst></worksheet>"
)

OF_ROWS = (
    '<conditionalFormatting sqref="2:4"><cfRule type="cellIs" priority="1" operator="lessThan"><formula>9</formula>'
    "</cfRule></conditionalFormatting><pageMargins"
)


def edited(edit) -> bytes:
    book = openpyxl.load_workbook(io.BytesIO(made()))
    edit(book["Data"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def plain(edit=lambda data: None) -> bytes:
    """The workbook without its second conditional format, and with one chart."""

    def bare(data) -> None:
        del data.conditional_formatting["C2:C4"]
        del data._charts[1]
        edit(data)

    return edited(bare)


def fill(operator: str) -> CellIsRule:
    return CellIsRule(operator=operator, formula=["90"], fill=PatternFill(bgColor="FFFF0000", fill_type="solid"))


@pytest.mark.parametrize("area", ["B2:B4", "A1:Z99", "B3"])
def test_a_second_rule_could_undo_the_first(state, area: str) -> None:
    assert run(state(**{"s.xlsx": plain()}), "sheet.conditional", **RULE, only=True)[0]
    twice = plain(lambda data: data.conditional_formatting.add(area, fill("lessThanOrEqual")))
    assert run(state(**{"s.xlsx": twice}), "sheet.conditional", **RULE)[0]
    assert "2 of the kind" in run(state(**{"s.xlsx": twice}), "sheet.conditional", **RULE, only=True)[1]


def test_a_rule_in_an_extension_counts(state) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain())) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(
                name, content.replace(b"</worksheet>", EXCEL_2010.encode()) if "sheet1" in name else content
            )
    final = state(**{"s.xlsx": out.getvalue()})
    assert "2 of the kind" in run(final, "sheet.conditional", **RULE, only=True)[1]


def test_a_rule_for_all_the_sheet_is_not_one_for_a_column(state) -> None:
    def widen(data) -> None:
        rule = data.conditional_formatting["B2:B4"][0]
        del data.conditional_formatting["B2:B4"]
        data.conditional_formatting.add("A1:Z99", rule)

    final = state(**{"s.xlsx": plain(widen)})
    assert run(final, "sheet.conditional", **RULE)[0]
    assert not run(final, "sheet.conditional", **RULE, only=True)[0]


def test_a_chart_of_each_kind_is_not_the_one_that_was_asked_for(state) -> None:
    right = {"type": "column", "series": [{"values": "B2:B4", "categories": "A2:A4"}]}
    assert run(state(**{"s.xlsx": plain()}), "sheet.chart", **right, only=True)[0]
    assert run(state(**{"s.xlsx": made()}), "sheet.chart", **right)[0]
    assert not run(state(**{"s.xlsx": made()}), "sheet.chart", **right, only=True)[0]


def test_a_chart_of_two_types_is_neither(state) -> None:
    def mix(data) -> None:
        data._charts.clear()
        bars, lines = BarChart(), LineChart()
        for chart, column in ((bars, 2), (lines, 4)):
            chart.add_data(Reference(data, min_col=column, min_row=1, max_row=4), titles_from_data=True)
        bars += lines
        data.add_chart(bars, "I1")

    message = run(state(**{"s.xlsx": plain(mix)}), "sheet.chart", type="column")[1]
    assert "it mixes the types ['bar', 'line']" in message


def test_a_chart_that_nobody_sees_is_none(state) -> None:
    corner = AnchorMarker(col=3, row=3)

    def shrink(data) -> None:
        data._charts[0].anchor = TwoCellAnchor(_from=corner, to=corner)

    assert "too small to be seen" in run(state(**{"s.xlsx": plain(shrink)}), "sheet.chart", type="column")[1]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_parts_of_one_name_fail(state) -> None:
    for name in ("xl/worksheets/sheet1.xml", "XL/Worksheets/Sheet1.xml"):
        out = io.BytesIO(made())
        with zipfile.ZipFile(out, "a") as archive:
            archive.writestr(name, "<worksheet/>")
        with pytest.raises(CheckFailed, match="two parts called xl/worksheets/sheet1.xml"):
            run(state(**{"s.xlsx": out.getvalue()}), "sheet.names", in_=PATH, that={"equals": ["Data", "Rates"]})


@pytest.mark.parametrize("hidden", ["hidden", "veryHidden"])
def test_a_hidden_sheet_counts_only_where_the_task_says_so(state, hidden: str) -> None:
    def hide(data) -> None:
        data.sheet_state = hidden

    final = state(**{"s.xlsx": edited(hide)})
    table = {"columns": ["Region"], "rows": [["North"], ["South"], ["East"]]}
    source = {"path": PATH, "sheet": "Data", "range": "A1:B4"}
    with pytest.raises(CheckFailed, match="the sheet 'Data' is hidden"):
        run(final, "table", in_=source, **table)
    assert run(final, "table", in_={**source, "hidden": True}, **table)[0]
    everywhere = {"path": PATH, "sheet": "*"}
    assert not run(final, "sheet.chart", in_=everywhere, type="column")[0]
    assert run(final, "sheet.chart", in_={**everywhere, "hidden": True}, type="column")[0]


@pytest.mark.parametrize(
    ("old", "new", "at", "right"),
    [
        (
            "<sheetData>",
            '<cols><col min="2" max="4" width="13" hidden="1"/></cols><sheetData>',
            "columns",
            ["B", "C", "D"],
        ),
        ("<sheetData>", '<cols><col min="6" max="6" width="0.1"/></cols><sheetData>', "columns", ["F"]),
        ('<row r="3"', '<row r="3" ht="0" customHeight="1"', "rows", [3]),
    ],
)
def test_what_is_hidden(state, old: str, new: str, at: str, right: list) -> None:
    final = state(**{"s.xlsx": changed("xl/worksheets/sheet1.xml", old, new)})
    assert run(final, "sheet.has", at=f"hidden_{at}", that={"equals": right})[0]


def test_all_cells_of_an_array_hold_its_formula(state) -> None:
    def fill_in(data) -> None:
        data["E2"] = ArrayFormula("E2:E4", "=A2:A4*B2:B4")
        data["E3"] = 5

    final = state(**{"s.xlsx": edited(fill_in)})
    assert run(final, "sheet.formula", range="E2:E3", that={"equals": "=A2:A4*B2:B4"})[0]


@pytest.fixture
def compared(state):
    """Outcome and message of ``sheet.unchanged`` for a workbook at the start and at the end."""

    def compare(before: bytes, after: bytes, **but) -> tuple[str, str]:
        given = bind(CHECKS["sheet.unchanged"], {"in": PATH, **but}, converters=Registry().converters(Path("/")))
        check = Check.bound("sheet.unchanged", CHECKS["sheet.unchanged"], given)
        start, final = state(**{"s.xlsx": before}), state(**{"s.xlsx": after})
        final.machine.baselines = check.baseline(start)
        result = check(final)
        return result.outcome, result.message

    return compare


def hide_a_row(data) -> None:
    data.row_dimensions[3].hidden = True


def hide_a_column(data) -> None:
    data.column_dimensions["B"].hidden = True


def white_text(data) -> None:
    data["A3"].font = Font(color="FFFFFFFF")


def other_format(data) -> None:
    data["B3"].number_format = '"9"'


def freeze(data) -> None:
    data["B3"] = "=250"


def far_away(data) -> None:
    data["ZZ999"] = "a copy"


def a_sheet_in_front(data) -> None:
    data.parent.create_sheet("Copy", 0)


def a_rule(data) -> None:
    data.conditional_formatting.add("B2:B4", fill("lessThan"))


def merge(data) -> None:
    data.merge_cells("A3:A4")


def hide(data) -> None:
    data.parent["Rates"].sheet_state = "hidden"


CHANGES = [
    hide_a_row, hide_a_column, white_text, other_format, freeze, far_away, a_sheet_in_front, a_rule, merge, hide,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_nobody_asked_for_is_a_change(compared, change) -> None:
    outcome, message = compared(made(), edited(change))
    assert outcome == "fail", message


def test_what_a_task_asks_for_may_change(compared) -> None:
    assert compared(made(), made()) == ("pass", f"{PATH}: all else is as at the start")
    assert compared(made(), edited(hide_a_row), parts=["hidden_rows"])[0] == "pass"
    assert compared(made(), edited(freeze), cells=["Data!B2:B4"])[0] == "pass"
    assert compared(made(), edited(freeze), cells=["Rates!B2:B4"])[0] == "fail"
    assert compared(made(), edited(a_sheet_in_front), sheets=True)[0] == "pass"
    assert compared(made(), b"no workbook")[0] == "fail"
    assert "legal are state" in compared(made(), made(), parts=["look"])[1]


@pytest.mark.parametrize("area", ["Data!B2:B4", "B:B", "2:4", "B4:B2", "x", ""])
def test_a_forged_range_is_no_error(state, area: str) -> None:
    final = state(**{"s.xlsx": changed("xl/worksheets/sheet1.xml", 'sqref="B2:B4"', f'sqref="{area}"')})
    assert Check("c", lambda final: run(final, "sheet.conditional", **RULE, only=True))(final).outcome == "fail"
    final = state(**{"s.xlsx": changed("xl/worksheets/sheet1.xml", 'sqref="B2:B9"', f'sqref="{area}"')})
    whole = {"range": "B2:B9", "type": "whole"}
    assert Check("v", lambda final: run(final, "sheet.validation", **whole))(final).outcome == "fail"
