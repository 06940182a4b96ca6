"""Checks of formulas, formats, charts and pivot tables: in a workbook of ours, and as LibreOffice writes it again."""

import io
import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.formatting.rule import CellIsRule, ColorScaleRule
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.worksheet.datavalidation import DataValidation

from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.task_suites.core.registry import Registry

PATH = "/home/user/s.xlsx"
DATA, RATES = {"path": PATH, "sheet": "Data"}, {"path": PATH, "sheet": "Rates"}


def made() -> bytes:
    book = openpyxl.Workbook()
    data, rates = book.active, book.create_sheet("Rates")
    data.title = "Data"
    data.append(["Region", "Net", "Gross", "Day"])
    for row, (region, net) in enumerate([("North", 100), ("South", 250), ("East", 75)], 2):
        data.append([region, net, f"=ROUND(B{row}*Rates!$B$2,2)", None])
        data[f"D{row}"].number_format = "yyyy-mm-dd"
    rates.append(["Tax", "Rate"])
    rates.append(["VAT", 1.2])
    for cell in data[1]:
        cell.font, cell.fill = Font(bold=True, color="FFFF0000"), PatternFill("solid", fgColor="FFFFFF00")
        cell.alignment, cell.border = Alignment(horizontal="center"), Border(bottom=Side("thin"))
    for row in range(2, 5):
        data[f"B{row}"].number_format = "#,##0.00"
    data.merge_cells("F1:G2")
    data.freeze_panes = "A2"
    data.auto_filter.ref = "A1:D4"
    green = PatternFill(bgColor="FF00FF00", fill_type="solid")
    data.conditional_formatting.add("B2:B4", CellIsRule(operator="greaterThan", formula=["90"], fill=green))
    scale = ColorScaleRule(start_type="min", start_color="FFFF0000", end_type="max", end_color="FF0000FF")
    data.conditional_formatting.add("C2:C4", scale)
    listed = DataValidation(type="list", formula1='"North,South,East"')
    whole = DataValidation(type="whole", operator="between", formula1="1", formula2="500")
    for rule, area in ((listed, "A2:A9"), (whole, "B2:B9")):
        data.add_data_validation(rule)
        rule.add(area)
    for kind, anchor in ((BarChart, "I1"), (LineChart, "I20")):
        chart = kind()
        chart.title = f"{kind.__name__} of sales"
        chart.x_axis.title = "Region"
        chart.add_data(Reference(data, min_col=2, min_row=1, max_row=4), titles_from_data=True)
        chart.set_categories(Reference(data, min_col=1, min_row=2, max_row=4))
        data.add_chart(chart, anchor)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.fixture(scope="module")
def converted() -> bytes:
    """The same, opened and saved by LibreOffice."""
    with SandboxMachine(MachineConfig(screen_size=None)) as machine:
        machine.put("/tmp/in/s.xlsx", made())
        command = ["soffice", "--headless", "--convert-to", "xlsx", "--outdir", "/tmp/out", "/tmp/in/s.xlsx"]
        done = machine.run(command, timeout=120)
        assert done.returncode == 0, done.stderr
        return machine.get("/tmp/out/s.xlsx")


@pytest.fixture(params=["ours", pytest.param("LibreOffice", marks=pytest.mark.sandbox)])
def final(request, state):
    return state(**{"s.xlsx": made() if request.param == "ours" else request.getfixturevalue("converted")})


def run(final, name: str, **arguments):
    arguments = {"in": arguments.pop("in_", DATA), **arguments}
    return CHECKS[name](final, **bind(CHECKS[name], arguments, converters=Registry().converters(Path("/"))))


def test_sheets_and_layout(final) -> None:
    assert run(final, "sheet.names", in_=PATH, that={"equals": ["Data", "Rates"]})[0]
    for at, right in {"merged": ["F1:G2"], "filter.range": "A1:D4", "state": "visible"}.items():
        assert run(final, "sheet.has", at=at, that={"equals": {"to": right}})[0], at
    assert not run(final, "sheet.has", in_=RATES, at="merged", that={"contains": "F1:G2"})[0]


def test_a_frozen_pane(state) -> None:  # LibreOffice without a window does not keep it
    final = state(**{"s.xlsx": made()})
    assert run(final, "sheet.has", at="freeze", that={"equals": "A2"})[0]
    assert not run(final, "sheet.has", in_=RATES, at="freeze", that={"equals": "A2"})[0]


def test_formulas(final) -> None:
    right = {"range": "C2:C4", "uses": ["ROUND"], "refers": ["B#", "Rates!B2"]}
    assert run(final, "sheet.formula", **right)[0]
    assert run(final, "sheet.formula", range="C2:C4", that={"contains": "ROUND"})[0]
    assert run(final, "sheet.formula", range="B2:B4", absent=True)[0]
    for wrong, message in (
        ({**right, "uses": ["SUM"]}, "C2 is =ROUND(B2*Rates!$B$2,2): no SUM"),
        ({**right, "refers": ["A#"]}, "no reference to a2"),
        ({"range": "B2:C2"}, "B2 holds 100, no formula"),
        ({"range": "B2:C2", "absent": True}, "C2 is =ROUND"),
        ({"range": "C2", "that": {"contains": "SUM"}}, "right is"),
    ):
        passed, said = run(final, "sheet.formula", **wrong)
        assert not passed and message in said, said


def test_a_function_in_a_text_does_not_count(state) -> None:
    book = openpyxl.Workbook()
    book.active["A1"] = '="SUM(B1)"&A2'
    out = io.BytesIO()
    book.save(out)
    final = state(**{"s.xlsx": out.getvalue()})
    assert not run(final, "sheet.formula", in_=PATH, range="A1", uses=["SUM"])[0]


def test_formats(final) -> None:
    head = {"bold": True, "fill": "#FFFF00", "color": "#ff0000", "horizontal": "center", "type": "text"}
    assert run(final, "sheet.cells", range="A1:D1", has=head) == (True, f"{PATH}, A1:D1: right")
    assert run(final, "sheet.cells", range="B2:B4", has={"format": "#,##0.00", "bold": False, "type": "number"})[0]
    assert run(final, "sheet.cells", range="A2:A4", has={"fill": None})[0]
    assert run(final, "sheet.cells", range="A1", has={"border": {"has": {"bottom": {"equals": "thin"}}}})[0]
    passed, message = run(final, "sheet.cells", range="A1:B2", has={"bold": True})
    assert not passed and "A2: bold is None, not True; B2:" in message


def test_conditional_formats_and_validations(final) -> None:
    right = {"range": "B2:B4", "type": "cellIs", "operator": "greaterThan", "values": [90], "has": {"fill": "#00ff00"}}
    assert run(final, "sheet.conditional", **right)[0]
    assert run(final, "sheet.conditional", range="C2:C3", type="colorScale")[0]
    for change in ({"range": "B2:B5"}, {"operator": "lessThan"}, {"values": [91]}, {"has": {"fill": "#ff0000"}}):
        assert not run(final, "sheet.conditional", **{**right, **change})[0], change
    assert "there is no conditional format" in run(final, "sheet.conditional", in_=RATES, range="A1")[1]
    entries = {"list": {"equals": ["North", "South", "East"]}}
    assert run(final, "sheet.validation", range="A2:A9", type="list", has=entries)[0]
    assert run(final, "sheet.validation", range="B2:B9", type="whole", operator="between", values=[1, 500])[0]
    assert not run(final, "sheet.validation", range="B2:B9", type="whole", values=[1, 50])[0]


def test_a_hidden_chart_is_none(state) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(made())) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b'cNvPr id="1"', b'cNvPr hidden="1" id="1"'))
    hidden = state(**{"s.xlsx": out.getvalue()})
    assert not run(hidden, "sheet.chart", type="column")[0]
    assert run(hidden, "sheet.chart", type="line")[0]


def test_charts(final) -> None:
    series = [{"values": "B2:B4", "categories": "Data!A2:A4", "title": "Net"}]
    right = {"type": "column", "title": "barchart of sales", "series": series, "x_title": "Region"}
    assert run(final, "sheet.chart", **right)[0]
    assert run(final, "sheet.chart", in_={"path": PATH, "sheet": "*"}, type="line", series=series)[0]
    for change, message in (
        ({"type": "pie"}, "type is 'column', not 'pie'"),
        ({"title": "Profit"}, "title is 'BarChart of sales', not 'Profit'"),
        ({"series": [*series, *series]}, "no series is B2:B4 over Data!A2:A4"),
        ({"series": [{"values": "C2:C4"}]}, "its series (values, categories, title) are [('Data!B2:B4'"),
    ):
        passed, said = run(final, "sheet.chart", **{**right, **change})
        assert not passed and message in said, said
    assert run(final, "sheet.chart", in_=RATES)[1] == f"{PATH}: there is no chart on 'Rates'"


def test_what_is_no_workbook_fails(state) -> None:
    with pytest.raises(CheckFailed, match="not a zip file"):
        run(state(**{"s.xlsx": b"no"}), "sheet.names", in_=PATH, that={"equals": []})
