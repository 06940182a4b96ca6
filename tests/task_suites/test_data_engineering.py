"""What the suite of data engineering promises of its tasks together: how many cross programs, and how many are long."""

from deskgym.cli.tasks import LONG
from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify.ledger import Ledger, ledger_path

WINDOWS = (
    "airflow",
    "calc",
    "chromium",
    "dagster",
    "geany",
    "helpdesk",
    "jupyterlab",
    "pgadmin",
    "superset",
    "terminal",
)
EDITOR = "airflow_dags.open"  # Airflow, and the editor before it where it names a file
TEMPLATES = load_suite("data_engineering").templates


def windows(template):
    """The programs that a template's setup opens a window of."""
    calls = [next(iter(hook.items())) for hook in template.file.setup]
    opened = {name.removesuffix(".open") for name, _ in calls if name.endswith(".open")} & {*WINDOWS}
    dags = [given for name, given in calls if name == EDITOR]
    return opened | ({"airflow"} if dags else set()) | ({"mousepad"} if any(dags) else set())


def test_what_is_called_cross_program_opens_two_programs():
    crossing = {name: windows(each) for name, each in TEMPLATES.items() if "cross-program" in each.file.tags}
    assert len(crossing) >= 12
    assert {name: found for name, found in crossing.items() if len(found) < 2} == {}


def test_some_oracles_are_long():
    proofs = Ledger(ledger_path("data_engineering")).proofs
    steps = {name: proofs[name].steps or 0 for name in TEMPLATES if name in proofs}
    assert len([name for name, taken in steps.items() if taken - 1 > LONG]) >= 10, f"{len(steps)} tasks are proven"
