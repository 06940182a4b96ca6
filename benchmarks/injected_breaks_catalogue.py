"""Thirty mistakes that somebody could make in deskgym: the breaks that CI's next run must find.

They are spread over what tasks are made of and played by: checks that pass, readers that lose something, macros and
hooks that miss, screens that are not waited for, and a guest or machine that does not do what it was told.
"""

from __future__ import annotations

from deskgym.benchmarks.injected_breaks_apply import Break

_EVALUATION = "deskgym.envs.evaluation"
_PROGRAMS = "deskgym.task_suites.programs"
_TABLES = "deskgym.task_suites.table_analysis"
_GUEST = "deskgym.envs.guest"

CHECKS = (
    Break(
        name="curves-of-any-colour",
        kind="check",
        target=f"{_PROGRAMS}.kalgebra.checks:_same_color",
        body="return got is not None",
        noticed_by="the wrong attempt that gives the curve another colour earns the reward",
        named="science:kalgebra/color",
    ),
    Break(
        name="too-many-changes-pass",
        kind="check",
        target=f"{_EVALUATION}.readers.changed_rows:judge_changes",
        old='[f"this was not done: {wanted[k]}" for k in missing] + [f"this should not be: {done[k]}" for k in spare]',
        new='[f"this was not done: {wanted[k]}" for k in missing]',
        noticed_by="a wrong attempt that does what was asked for, and more, earns the reward",
        named="data_engineering:sqlite/report",
    ),
    Break(
        name="any-text-passes",
        kind="check",
        target=f"{_EVALUATION}.checks.file:text",
        body='return True, f"{path} is {shown(read_text(final, path, limit))}; right is {that}"',
        noticed_by="a wrong attempt that writes another text earns the reward",
        named="data_engineering:terminal/replace",
    ),
    Break(
        name="any-axiom-is-allowed",
        kind="check",
        target=f"{_PROGRAMS}.coqide.checks:proved",
        old="assumed and set(assumed) <= {*(allow or [])}",
        new="assumed",
        noticed_by="a wrong attempt that admits the theorem earns the reward",
        named="proving:proving/booleans",
    ),
    Break(
        name="worst-rank-is-best",
        kind="check",
        target="deskgym.task_suites.procedures.kinds.ranking:RankingTask.grade",
        old="max(0.0, tau)",
        new="abs(tau)",
        noticed_by="the wrong answer that puts the worst procedure first earns the reward",
        named="procedures:ranking/executed/mail.flag.1826701615 @ 2026-11-27-11-28-30",
    ),
    Break(
        name="any-answer-is-valid",
        kind="check",
        target="deskgym.task_suites.procedures.kinds.validation:ValidationTask.grade",
        old="float(said == self.is_right)",
        new="float(said in (True, False))",
        noticed_by="the other one of yes and no earns the reward",
        named="procedures:validation/completion/mail.flag.1826701615 @ 2026-11-27-11-28-30",
    ),
    Break(
        name="any-numbers-agree",
        kind="check",
        target=f"{_TABLES}.guest.comparators.columns:_close",
        old="(gold_mask & got_mask) | (same & ~gold_mask & ~got_mask)",
        new="gold_mask == got_mask",
        noticed_by="wrong code that gives a table with other numbers earns the reward",
        named="table_analysis:orders/lena/normal/return-rates",
    ),
)

READERS = (
    Break(
        name="last-csv-row-is-lost",
        kind="reader",
        target=f"{_EVALUATION}.readers.files:parse_csv",
        old="return rows",
        new="return rows[:-1]",
        noticed_by="the oracle's table has a row less than it must have",
        named="data_engineering:terminal/clean",
    ),
    Break(
        name="service-data-is-stale",
        kind="reader",
        target=f"{_EVALUATION}.readers.tables:ask_companion.ask",
        old="companion.sql(query, database=database)",
        new="companion.sql(query, database=database, base=True)",
        noticed_by="what the oracle has changed in the service's database is not seen",
        named="data_engineering:warehouse/deduplicate",
    ),
    Break(
        name="last-table-row-is-lost",
        kind="reader",
        target=f"{_PROGRAMS}.toolkits.qt:rows",
        old="range(0, len(cells) - columns + 1, columns)",
        new="range(0, len(cells) - columns, columns)",
        noticed_by="the oracle's last function or variable is not in KAlgebra's list",
        named="science:kalgebra/plot-2d",
    ),
    Break(
        name="last-sheet-row-is-lost",
        kind="reader",
        target=f"{_EVALUATION}.readers.spreadsheet:sheet_data",
        old="sorted(sheet._cells.items())",
        new="[item for item in sorted(sheet._cells.items()) if item[0][0] < sheet.max_row]",
        noticed_by="the oracle's workbook has a row less than it must have",
        named="data_engineering:calc/formula-column",
    ),
    Break(
        name="dbt-builds-the-old-project",
        kind="reader",
        target=f"{_PROGRAMS}.dbt.building:build",
        old='{**final.baseline(f"dbt:{project}"), **changes}',
        new='{**changes, **final.baseline(f"dbt:{project}")}',
        noticed_by="the files that the oracle has changed are built as they were at the start",
        named="data_engineering:dbt/fix",
    ),
    Break(
        name="chart-metrics-lose-their-function",
        kind="reader",
        target=f"{_PROGRAMS}.superset.checks:plain",
        old="""return f"{value.get('aggregate')}({(value.get('column') or {}).get('column_name')})\"""",
        new="return str((value.get('column') or {}).get('column_name'))",
        noticed_by="the oracle's SUM(revenue) is read as revenue",
        named="data_engineering:superset/chart-pie",
    ),
    Break(
        name="reference-is-read-twice",
        kind="reader",
        target=f"{_TABLES}.judging:judge",
        old="_take(Kernel(final.machine, limits), wanted, READING)",
        new="_take(second, wanted, READING)",
        noticed_by="wrong code earns the reward: the reference is compared with itself",
        named="table_analysis:orders/lena/normal/sold-lines",
    ),
)

MACROS = (
    Break(
        name="cells-miss-a-character",
        kind="macro",
        target=f"{_PROGRAMS}.calc.macros:enter",
        old='f"{text}\\n"',
        new='f"{text[:-1]}\\n"',
        noticed_by="what the oracle types into a cell is one character short",
        named="data_engineering:calc/summary",
    ),
    Break(
        name="proof-is-not-saved",
        kind="macro",
        target=f"{_PROGRAMS}.coqide.macros:write",
        body="yield from type_(screen, text)",
        noticed_by="the file that is checked is the one of the setup",
        named="science:coqide/lemma",
    ),
    Break(
        name="list-in-place-of-the-form",
        kind="macro",
        target=f"{_PROGRAMS}.erp.macros:go",
        old='url = f"127.0.0.1:{PORT}/#erp/model/{page}"',
        new="url = f\"127.0.0.1:{PORT}/#erp/model/{page.partition('/')[0]}\"",
        noticed_by="the oracle does not find the form's fields",
        named="bpm:erp/note",
    ),
    Break(
        name="hook-writes-no-file",
        kind="macro",
        target="deskgym.task_suites.hooks.files:_put",
        old="setup.machine.put(legal_path(path), source, mode=mode)",
        new="legal_path(path)",
        noticed_by="the files that the oracle works on are not there",
        named="data_engineering:terminal/clean",
    ),
    Break(
        name="last-line-is-not-typed",
        kind="macro",
        target=f"{_PROGRAMS}.jupyterlab.macros:_typed",
        old="lines[1:]",
        new="lines[1:-1]",
        noticed_by="the oracle's cell lacks its last line",
        named="data_engineering:jupyterlab/fix",
    ),
    Break(
        name="clicks-hit-the-corner",
        kind="macro",
        target=f"{_PROGRAMS}.toolkits.scripts:click",
        old="x, y = element.center",
        new="x, y = element.x - 2, element.y - 2",
        noticed_by="every click of an oracle goes just beside its element",
        named="bpm:mail/flag",
    ),
    Break(
        name="history-is-not-run",
        kind="macro",
        target=f"{_TABLES}.prepared:PreparedTurn.cells",
        body="return (head(self._tables(False)),)",
        noticed_by="the variables of the turns before are not there when the oracle's code runs",
        named="table_analysis:orders/lena/action/monthly-revenue.update_code",
    ),
)

SETTLE = (
    Break(
        name="settles-at-once",
        kind="settle",
        target=f"{_GUEST}.x11.screen:Screen._settle",
        body="on_answer()\nreturn Rest(True)",
        noticed_by="pictures are compared, and keys typed, before the program has painted",
        named="science:kalgebra/surface",
    ),
    Break(
        name="first-frame-for-ever",
        kind="settle",
        target="deskgym.envs.displays.x11:X11Display.capture",
        old="self._convert(self._frames.pixels, self._code, dst=out)",
        new="""\
if "first" not in self.__dict__:
    self.__dict__["first"] = self._convert(self._frames.pixels, self._code)
out[...] = self.__dict__["first"]""",
        noticed_by="the colours that KAlgebra's checks look for are not on the screen of the start",
        named="science:kalgebra/color",
    ),
    Break(
        name="changes-are-forgotten",
        kind="settle",
        target=f"{_GUEST}.x11.damage:DamageWatch._on_damage",
        old="self.changed = added(self.changed, boxes)",
        new="self.changed = ()",
        noticed_by="the accessible elements are not read again where the screen has changed",
        named="science:labplot/plot",
    ),
    Break(
        name="waits-are-in-milliseconds",
        kind="settle",
        target=f"{_GUEST}.x11.screen:Screen._event",
        old='max(0.0, min(float(event["s"]), MAX_WAIT))',
        new='max(0.0, min(float(event["s"]) / 1000, MAX_WAIT))',
        noticed_by="PSPP's dialogs do not take what comes before they are ready",
        named="science:pspp/compute",
    ),
)

GUEST = (
    Break(
        name="files-lose-their-last-byte",
        kind="guest",
        target=f"{_GUEST}.client:GuestClient.get",
        old="return bytes(data)",
        new="return bytes(data[:-1])",
        noticed_by="sessions, pictures and JSON of the oracle's cannot be read",
        named="science:pymol/color",
    ),
    Break(
        name="commands-always-succeed",
        kind="guest",
        target=f"{_GUEST}.commands:Commands.run",
        old="ended.result() if ended.done() else -9",
        new="0",
        noticed_by="what a setup or a check waits for is taken to be there before it is",
        named="data_engineering:warehouse/upsert",
    ),
    Break(
        name="elements-are-shifted",
        kind="guest",
        target=f"{_GUEST}.accessibility.walk:Walk.on_extents",
        old="node.raw = rect",
        new="node.raw = (rect[0] + 40, *rect[1:])",
        noticed_by="every click on an element goes 40 pixels too far to the right",
        named="science:kalgebra/tab",
    ),
    Break(
        name="modifiers-are-dropped",
        kind="guest",
        target="deskgym.envs.action.actions:_held",
        old='down: list[Event] = [{"t": "keydown", "k": key} for key in action.keys]',
        new='down: list[Event] = [{"t": "keydown", "k": key} for key in action.keys[-1:]]',
        noticed_by="Ctrl+S types an s, and nothing is saved",
        named="science:texstudio/section",
    ),
    Break(
        name="restored-machine-keeps-its-files",
        kind="guest",
        target="deskgym.envs.machines.sandbox.machine:SandboxMachine.untouched",
        body="return self.alive and self._below is None and self._guest is not None",
        noticed_by="the attempt after the oracle finds what the oracle has done",
        named="data_engineering:terminal/clean",
    ),
)

BREAKS = (*CHECKS, *READERS, *MACROS, *SETTLE, *GUEST)
"""All of them, in the order in which they are tried."""
