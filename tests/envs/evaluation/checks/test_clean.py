"""Checks that run in the second, clean machine: scripts, formulas, Parquet files and DuckDB databases."""

import io
import re
import zipfile

import duckdb
import openpyxl
import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import Check
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig
from deskgym.task_suites.core.registry import Registry

pytestmark = pytest.mark.sandbox
HOME = "/home/user"


@pytest.fixture(scope="module")
def manager():
    builder = MachineBuilder("sandbox", MachineConfig(screen_size=None))
    manager = MachineManager(builder, lambda machine: SettlePolicy(), PoolConfig())
    manager.machine.start()
    yield manager
    manager.close()


def outcome(manager, folder, name: str, **arguments) -> tuple[str, str]:
    arguments = {"in" if key == "in_" else "with" if key == "with_" else key: value for key, value in arguments.items()}
    given = bind(CHECKS[name], arguments, converters=Registry().converters(folder))
    final = FinalState(manager.machine, "done", clean_machine=manager.clean_machine)
    result = Check.bound(name, CHECKS[name], given)(final)
    return result.outcome, result.message


def test_a_script_over_copies_of_the_agents_files(manager, tmp_path) -> None:
    machine = manager.machine
    (tmp_path / "input.txt").write_text("20 22")
    machine.put(f"{HOME}/sum.py", b"print(sum(map(int, input().split())))")
    machine.put(f"{HOME}/project/a/b.txt", b"deep")
    machine.run(["sh", "-c", f"ln -s /etc/hostname {HOME}/link; ln -s /etc {HOME}/project/etc; mkfifo {HOME}/pipe"])
    run = {"run": "python3 sum.py < /tmp/in.txt", "files": [f"{HOME}/sum.py"], "with_": {"/tmp/in.txt": "input.txt"}}
    assert outcome(manager, tmp_path, "command", **run, that={"equals": "42"})[0] == "pass"
    assert not machine.guest.exists("/tmp/in.txt")
    result, message = outcome(manager, tmp_path, "command", **run, that={"equals": "43"})
    assert result == "fail" and "it wrote '42'; right is {'equals': '43'}" in message
    listed = {"run": f"cd {HOME}/project && find . -type f -o -type l", "files": [f"{HOME}/project"]}
    assert outcome(manager, tmp_path, "command", **listed, that={"equals": "./a/b.txt"})[0] == "pass"
    for path, why in ((f"{HOME}/link", "but a link"), (f"{HOME}/pipe", "but a other"), (f"{HOME}/none", "no such")):
        result, message = outcome(manager, tmp_path, "command", run="true", files=[path])
        assert result == "fail" and why in message.casefold(), message
    assert outcome(manager, tmp_path, "command", run="true", files=[f"{HOME}/sum.py"], limit=3)[0] == "fail"
    assert outcome(manager, tmp_path, "command", run="sleep 9", timeout=0.3) == (
        "fail",
        "it took longer than 0.3 s to run the script",
    )
    assert "it ended with 3, right is 0; it wrote 'x" in outcome(manager, tmp_path, "command", run="echo x; exit 3")[1]
    assert outcome(manager, tmp_path, "command", run="echo '{\"a\": [1]}'", at="a.0", that={"equals": 1})[0] == "pass"
    assert outcome(manager, tmp_path, "command", run=["no-such-program"])[0] == "error"


def test_parquet_and_duckdb(manager, tmp_path) -> None:
    base = duckdb.connect(str(tmp_path / "x.duckdb"))
    base.execute("CREATE TABLE t AS SELECT 'a' AS name, 1.50::DECIMAL(9, 2) AS v, DATE '2026-01-31' AS d")
    base.execute(f"COPY t TO '{tmp_path}/x.parquet'")
    base.close()
    rows = [["a", 1.5, "2026-01-31"]]
    for name, more in (("x.duckdb", {"table": "t"}), ("x.parquet", {})):
        manager.machine.put(f"{HOME}/{name}", tmp_path / name)
        found = outcome(manager, tmp_path, "table", in_={"path": f"{HOME}/{name}", **more}, rows=rows)
        assert found[0] == "pass", found
        manager.machine.put(f"{HOME}/{name}", (tmp_path / name).read_bytes()[:300])
        found = outcome(manager, tmp_path, "table", in_={"path": f"{HOME}/{name}", **more}, rows=rows)
        assert found[0] == "fail", found


def spreadsheet(*rows: list, kind: str = "xlsx", manager=None) -> bytes:
    """Rows on a sheet Orders, and a price on a sheet Rates; as an ods by way of LibreOffice."""
    book = openpyxl.Workbook()
    book.active.title = "Orders"
    book.create_sheet("Rates").append([3])
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    if kind == "xlsx":
        return out.getvalue()
    machine = manager.clean_machine()
    machine.put("/tmp/x.xlsx", out.getvalue())
    machine.run(["soffice", "--headless", "--convert-to", kind, "--outdir", "/tmp", "/tmp/x.xlsx"], timeout=120)
    return machine.get(f"/tmp/x.{kind}")


def forged(data: bytes, part: str, old: str, new: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name).decode(errors="surrogateescape")
            changed = re.sub(old, new, content) if name == part else content
            target.writestr(name, changed.encode(errors="surrogateescape"))
    return out.getvalue()


SHEET = "xl/worksheets/sheet1.xml"
FORMULA = "=A2*Rates!$A$1"


def test_a_value_that_was_written_beside_a_formula_does_not_count(manager, tmp_path) -> None:
    honest = spreadsheet(["Units", "Total"], [2, FORMULA], [5, "=A3+0*Rates!A1"])
    wrong = forged(honest, SHEET, "(<f>A3[^<]*</f>)<v ?/>|(<f>A3[^<]*</f>)<v></v>", r"\1\2<v>15</v>")
    source = {"path": f"{HOME}/s.xlsx"}
    for data, that in ((honest, [6, 5]), (wrong, [6, 5])):
        manager.machine.put(f"{HOME}/s.xlsx", data)
        found = outcome(manager, tmp_path, "table.column", in_=source, column="Total", that={"equals": that})
        assert found[0] == "pass", found
        found = outcome(manager, tmp_path, "table.column", in_=source, column="Total", that={"equals": [6, 15]})
        assert found[0] == "fail", found
    typed = outcome(manager, tmp_path, "sheet.cells", in_=source, range="B2:B3", has={"type": "number"})
    assert typed[0] == "pass", typed


@pytest.mark.slow
def test_the_same_in_an_ods_file(manager, tmp_path) -> None:
    data = spreadsheet(["Units", "Total"], [2, FORMULA], kind="ods", manager=manager)
    manager.machine.put(f"{HOME}/s.ods", forged(data, "content.xml", r'office:value="6"', 'office:value="60"'))
    for total, right in ((6, "pass"), (60, "fail")):
        found = outcome(manager, tmp_path, "table", in_=f"{HOME}/s.ods", rows=[[2, total]])
        assert found[0] == right, found


@pytest.mark.slow
def test_the_values_of_an_array_do_not_count_either(manager, tmp_path) -> None:
    data = spreadsheet(["Units", "Total"], [2, "x"], [5, "x"])
    cells = '<c r="B2"><f t="array" ref="B2:B3">A2:A3*2</f><v>6</v></c>', '<c r="B3"><v>15</v></c>'
    for k, cell in enumerate(cells, 2):
        data = forged(data, SHEET, f'<c r="B{k}".*?</c>', cell)
    manager.machine.put(f"{HOME}/s.xlsx", data)
    for that, right in (([4, 10], "pass"), ([6, 15], "fail")):
        found = outcome(manager, tmp_path, "table.column", in_=f"{HOME}/s.xlsx", column="Total", that={"equals": that})
        assert found[0] == right, found


def test_a_number_in_a_formula_stays_when_other_values_are_given(manager, tmp_path) -> None:
    source = {"path": f"{HOME}/s.xlsx", "given": {"Orders!A2": [[7], [8]], "Rates!A1": [[10]]}}
    for formula, right in ((FORMULA, 70), ("=6+0*A2*Rates!A1", 6), ("=IF(A2=2,6,A2)", 7)):
        manager.machine.put(f"{HOME}/s.xlsx", spreadsheet(["Units", "Total"], [2, formula]))
        found = outcome(manager, tmp_path, "table.cell", in_=source, at="B2", that={"equals": right})
        assert found[0] == "pass", found
    manager.machine.put(f"{HOME}/s.xlsx", spreadsheet(["Region", "Total"], ["Süd", '=A2&" ""1"""']))
    given = {**source, "given": {"Orders!A2": [['Ost\\ "x"']]}}
    found = outcome(manager, tmp_path, "table.cell", in_=given, at="B2", that={"equals": 'Ost\\ "x" "1"'})
    assert found[0] == "pass", found


@pytest.mark.slow
def test_what_libreoffice_cannot_calculate_fails(manager, tmp_path) -> None:
    data = spreadsheet(["Units", "Total"], [2, FORMULA])
    for formula, sheet, why in (
        (r"WEBSERVICE(&quot;http://127.0.0.1/&quot;)*", "Orders", "right is"),
        ("B2*", "Orders", "right is"),
        ("A2*", "Prices", "cannot calculate it"),
    ):
        source = {"path": f"{HOME}/s.xlsx", "given": {f"{sheet}!A2": [[7]]}}
        manager.machine.put(f"{HOME}/s.xlsx", forged(data, SHEET, r"A2\*", formula))
        found = outcome(manager, tmp_path, "table.cell", in_=source, at="B2", that={"equals": 21})
        assert found[0] == "fail" and why in found[1], found
    manager.machine.put(f"{HOME}/s.xlsx", forged(data, "xl/workbook.xml", "Orders", "Orders'"))
    found = outcome(manager, tmp_path, "table.cell", in_=f"{HOME}/s.xlsx", at="B2", that={"equals": 6})
    assert found[0] == "fail" and "does not keep the name" in found[1], found
