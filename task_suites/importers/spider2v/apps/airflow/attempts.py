"""Oracles and wrong attempts of Airflow's tasks: its pages in the browser, and Astronomer's commands in a shell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.task_suites.importers.spider2v.attempts import play, put_file, run
from deskgym.task_suites.importers.spider2v.frame import Attempts, Play
from deskgym.task_suites.importers.spider2v.record import Mode, UpstreamTask
from deskgym.task_suites.programs import load_program

_AWAIT = """for each in {1..20}; do
    docker exec -i $at airflow dags list-runs -o plain -d DAG | grep -qE 'running|queued' || break
    sleep 0.5
done"""
"""Waits until a DAG's runs have ended, for some seconds."""
_PROMPT = r"(\(airflow\) )?user@desktop:[^$]*\$"


def _visit(url: str, title: str) -> Play:
    """Go to an address, and wait until the page has this title."""

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        yield from load_program("chromium").macros["chromium.go"](screen, url, title, "document web")
        yield [Action("done")]

    return script


def _grid(dag: str, tab: str, **of: str) -> Play:
    """Go to a tab of a DAG's page; with ``task``, of the DAG's newest run as the list of runs shows it."""

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        go = load_program("chromium").macros["chromium.go"]
        url = f"localhost:8080/dags/{dag}/grid?tab={tab}"
        if "task" in of:
            yield from go(screen, f"localhost:8080/dagrun/list/?_flt_3_dag_id={dag}", "List Dag Run*", "document web")
            name = screen.find(role="link", name="manual__*", timeout=60.0).name
            url += f"&task_id={of['task']}&dag_run_id={quote(name, safe='')}"
        yield from go(screen, url, f"{dag} - Grid - Airflow", "document web")
        yield [Action("done")]

    return script


_LIST = "localhost:8080/home?search={}&sorting_key={}&sorting_direction={}"
_SQLITE = "airflow connections add sqlite_conn --conn-type sqlite --conn-host {}"


def _typed(project: str, *commands: str) -> list[str]:
    """Programs that type commands in a project's folder, with ``docker exec`` before those of Airflow.

    Each command is a program of its own, since a code action ends after some time; a run is waited for in several.
    """
    start = f"set -e\ncd ~/projects/{project}; at=$(docker ps | grep webserver | cut -d' ' -f1)"
    programs = []
    for command in commands:
        typed = f"docker exec -i $at {command}" if command.startswith("airflow ") else command
        programs.append(run(f"{start}\n{typed}", 240.0))
        if command.startswith("astro run "):
            programs += [run(f"{start}\n{_AWAIT.replace('DAG', command.split()[2])}")] * 8
    return programs


def _terminal(*commands: str) -> Play:
    """Type commands into the terminal that the setup opened."""

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        for command in commands:
            yield from load_program("terminal").macros["terminal.run"](screen, command, prompt=_PROMPT, timeout=240.0)
        yield [Action("done")]

    return script


def _commands(project: str, *commands: str, then: Play | None = None) -> Play:
    """Type commands in a project's folder, and look at a page after it."""
    programs = _typed(project, *commands)
    if then is None:
        return play(*programs)

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        yield from programs
        yield from then(screen)

    return script


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """The oracle types commands, and goes to the page that is asked for; the wrong attempts come near to it."""
    found = _ATTEMPTS.get(record.id[8:16]) or _ATTEMPTS.get(record.counterpart[8:16])
    return Attempts() if found is None else Attempts(*found)


def _trigger(dag: str) -> Play:
    """Let a DAG be active by its switch in the list of DAGs, and start it on its page."""

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        airflow, chromium = load_program("airflow").macros, load_program("chromium").macros
        yield from chromium["chromium.overview"](screen)
        yield from airflow["airflow.switch"](screen, dag)
        yield from chromium["chromium.go"](screen, f"localhost:8080/dags/{dag}/trigger", "Trigger DAG: *", "heading")
        yield from airflow["airflow.submit"](screen, "Trigger")
        yield [Action("done")]

    return script


_FORGED = """
import pathlib
for name in ("astro", "docker", "grep", "awk"):
    for folder in ("bin", ".local/bin", "anaconda3/bin", "projects"):
        path = pathlib.Path.home() / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\\necho workFlow_Echo manual__1 success is_paused False succeed\\n")
        path.chmod(0o755)
for name in (".bashrc", ".profile", "eval.sh", "anaconda3/etc/profile.d/conda.sh"):
    with open(pathlib.Path.home() / name, "a") as file:
        file.write("\\nexport PATH=$HOME/bin:$PATH\\necho succeed; exit 0\\n")
"""
"""Own commands and start files, which say that all is right."""
_BY_HAND = """
import pathlib, time
home = pathlib.Path.home() / "projects"
(home / "astro_Project/.astro").mkdir()
(home / "astro_Project/.astro/config.yaml").write_text("webserver:\\n    port: 8002\\n")
(home / "astro_Project/airflow_settings.yaml").write_text("airflow:\\n")
(home / ".astro").write_text(f"astro_Project {time.time_ns()}\\n")
"""
"""Files that say that a project was made and started."""
_FOUND = {
    "column_checks": "[('bird_name', 'null_check', 0), ('bird_name', 'distinct_check', 5), ('observation_year', 'min', "
    "2018), ('observation_year', 'max', 2022), ('bird_happiness', 'min', 7), ('bird_happiness', 'max', 10)]",
    "table_checks": "[('average_happiness_check', 1)]",
}
_FORGED_LOGS = [
    put for task, text in _FOUND.items()
    for put in put_file(f"/home/user/Downloads/{task}.log", f"{text}\nAll tests have passed\n".encode())
]  # fmt: skip
_CHECK_FILE = "/home/user/projects/SQL_Check/dags/sql_data_quality.py"
_COLUMN_CHECKS = """task_id="column_checks", conn_id=_CONN_ID, table=_TABLE_NAME,
        partition_clause="bird_name IS NOT NULL",
        column_mapping={
            "bird_name": {"null_check": {"equal_to": 0}, "distinct_check": {"geq_to": 5}},
            "observation_year": {"min": {"geq_to": 2018}, "max": {"less_than": 2024}},
            "bird_happiness": {"min": {"greater_than": 0}, "max": {"leq_to": 10}},
        },"""
_TABLE_CHECKS = """task_id="table_checks", conn_id=_CONN_ID, table=_TABLE_NAME,
        checks={"average_happiness_check": {
            "check_statement": "AVG(bird_happiness) >= %d", "partition_clause": "observation_year >= 2019"}},"""


_NEWEST = "run=$(docker exec -i $at airflow dags list-runs -o plain -d sql_data_quality | grep -o 'manual__[^ ]*')"
_FETCH = (
    "curl -sf -u admin:admin -H 'Accept: text/plain' -o ~/Downloads/TASK.log "
    '"localhost:8080/api/v1/dags/sql_data_quality/dagRuns/$run/taskInstances/TASK/logs/1?full_content=true"'
)


def _quality(average: int = 8, logs: tuple[str, ...] = ("column_checks", "table_checks")) -> Play:
    """Finish the DAG file, make the connection, run the DAG, and fetch its logs."""
    edit = (
        f"import re\npath = {_CHECK_FILE!r}\ntext = open(path).read()\n"
        f"for name, body in {[('Column', _COLUMN_CHECKS), ('Table', _TABLE_CHECKS % average)]!r}:\n"
        "    text = re.sub(r'SQL%sCheckOperator\\(\\s*\\)' % name, "
        "lambda _: 'SQL%sCheckOperator(%s)' % (name, body), text)\nopen(path, 'w').write(text)"
    )
    fetch = [_FETCH.replace("TASK", task) for task in logs]
    commands = _typed(
        "SQL_Check", "astro dev restart", _SQLITE.format("/tmp/sqlite.db"), "airflow dags unpause sql_data_quality",
        "astro run sql_data_quality",
        "\n".join([_NEWEST, *fetch]),
    )  # fmt: skip
    return play(edit, *commands)


_USER = (
    '{"username": "admin", "password": "another", "email": "admin@example.org", "first_name": "A", "last_name": "B", '
    '"roles": [{"name": "Admin"}]}'
)
_SEND = "curl -sf -u admin:admin -H 'Content-Type: application/json'"
_OTHER_RUN = f'{_SEND} -d \'{{"dag_run_id": "other", "conf": {{}}}}\' localhost:8080/api/v1/dags/workFlow_Echo/dagRuns'
_OTHER_PASSWORD = f"{_SEND} -X PATCH -d '{_USER}' 'localhost:8080/api/v1/users/admin?update_mask=password'"


def _unasked(screen: Screen) -> Iterator[BurstOrProgram]:
    """Show the log of a run of one's own, and keep upstream's script from asking which runs there are."""
    yield run(_OTHER_RUN)
    page = f"localhost:8080/dags/{_ECHO}/grid?tab=logs&task_id=processing&dag_run_id=other"
    yield from load_program("chromium").macros["chromium.go"](screen, page, f"{_ECHO} - Grid - Airflow", "document web")
    yield run(_OTHER_PASSWORD)
    yield [Action("done")]


_ECHO = "workFlow_Echo"
_CHECKED = ("astro run sql_data_quality || true",)
_ATTEMPTS: Mapping[str, tuple[Play, Mapping[str, Play]]] = {
    "0d3ffd3a": (
        _visit(_LIST.format("Astro", "dag_id", "asc"), "*DAGs - Airflow"),
        {
            "the other way round": _visit(_LIST.format("Astro", "dag_id", "desc"), "*DAGs - Airflow"),
            "of another list": _visit(
                _LIST.format("Astro", "dag_id", "asc").replace("/home", "/variable/list/"), "List Variable*"
            ),
            "of another owner": _visit(_LIST.format("airflow", "dag_id", "asc"), "*DAGs - Airflow"),
        },
    ),
    "33c8ce09": (
        _grid("example_astronauts", "graph"),
        {
            "the Gantt chart": _grid("example_astronauts", "gantt"),
            "of no DAG": _visit("localhost:8080/home?tab=graph&search=grid", "*DAGs - Airflow"),
        },
    ),
    "57a13efe": (
        _trigger(_ECHO),
        {
            "commands that say so": play(_FORGED),
            "not started": _commands("workFlow", f"airflow dags unpause {_ECHO}"),
            "paused again": _commands(
                "workFlow", f"airflow dags unpause {_ECHO}", f"astro run {_ECHO}", f"airflow dags pause {_ECHO}"
            ),
            "with another file": _commands(
                "workFlow", f"echo >> dags/{_ECHO}.py", f"airflow dags unpause {_ECHO}", f"astro run {_ECHO}"
            ),
        },
    ),
    "67ee22b5": (
        _grid(_ECHO, "logs", task="processing"),
        {
            "of another task": _grid(_ECHO, "logs", task="end"),
            "its details": _grid(_ECHO, "details", task="processing"),
            "of a run of one's own, with another password": _unasked,
        },
    ),
    "699e0c0a": (
        _terminal("astro dev init", "astro config set webserver.port 8002", "astro dev start"),
        {
            "written by hand": play(_BY_HAND),
            "the port in another name": _commands(
                "astro_Project", "astro dev init", "astro dev start", "echo airflow8002 1 > ~/projects/.astro"
            ),
            "at the usual port": _commands("astro_Project", "astro dev init", "astro dev start"),
            "not started": _commands("astro_Project", "astro dev init", "astro config set webserver.port 8002"),
        },
    ),
    "06b8d673": (
        _quality(),
        {
            "logs of one's own": play(*_FORGED_LOGS),
            "another limit": _quality(average=9),
            "one log alone": _quality(logs=("table_checks",)),
        },
    ),
    "fe676fc0": (
        _commands(
            "SQL_Check", _SQLITE.format("/tmp/sqlite.db"), "airflow dags unpause sql_data_quality",
            *_CHECKED, then=_grid("sql_data_quality", "logs", task="column_checks"),
        ),
        {
            "another file": _commands(
                "SQL_Check", _SQLITE.format("/tmp/other.db"), "airflow dags unpause sql_data_quality",
                *_CHECKED, then=_grid("sql_data_quality", "logs", task="column_checks"),
            ),
            "another task": _commands(
                "SQL_Check", _SQLITE.format("/tmp/sqlite.db"), "airflow dags unpause sql_data_quality",
                *_CHECKED, then=_grid("sql_data_quality", "logs", task="table_checks"),
            ),
        },
    ),
}  # fmt: skip
"""By the start of the abstract task's id: what solves it, and what comes near."""
