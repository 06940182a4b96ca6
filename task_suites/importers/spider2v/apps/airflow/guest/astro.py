#!/usr/bin/python3 -I
"""``astro`` and ``docker`` as Spider2-V's scripts and agents call them, over an Airflow that runs beside the desktop.

It is run under both names, standard library only: on the desktop, and where the evaluation's scripts run. A project is
started by a line in ``projects/.astro``, which the machine with Airflow waits for. All else is asked of Airflow's REST
interface: none of the agent's code runs here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOTS = ("/opt/deskgym/projects", "/home/user/projects")
AIRFLOW = 8080
TIMEOUT = 120.0
PARTS = ("webserver", "scheduler", "triggerer", "postgres")
EXAMPLE = '''"""An example of a DAG: what is counted, and what is told of it."""

from airflow.decorators import dag, task
from pendulum import datetime


@dag(start_date=datetime(2024, 1, 1), schedule="@daily", catchup=False, default_args={"owner": "Astro"})
def example_astronauts():
    @task
    def get_astronauts():
        return 7

    @task
    def print_astronauts(number):
        print(f"There are {number} people in space.")

    print_astronauts(get_astronauts())


example_astronauts()
'''
SETTINGS = """\
airflow:
  connections:
    - conn_id:
  pools:
    - pool_name:
  variables:
    - variable_name:
"""
FILES = {
    "dags/exampledag.py": EXAMPLE, "dags/.airflowignore": "", "include/.keep": "", "plugins/.keep": "",
    "Dockerfile": "FROM quay.io/astronomer/astro-runtime:10.5.0\n", "airflow_settings.yaml": SETTINGS,
    "packages.txt": "", "requirements.txt": "", ".env": "", "README.md": "An Astro project.\n",
}  # fmt: skip


class Failed(Exception):
    """What the command says before it ends with 1."""


def ask(method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """What Airflow's REST interface answers."""
    request = urllib.request.Request(f"http://127.0.0.1:{AIRFLOW}/api/v1{path}", method=method)
    request.add_header("Authorization", "Basic " + base64.b64encode(b"admin:admin").decode())
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, data, 30) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace")
        try:
            said = json.loads(said).get("detail") or json.loads(said)["title"]
        except (ValueError, KeyError):
            said = said[:200]
        raise Failed(f"airflow: {said}") from None
    except OSError as error:
        raise Failed(f"airflow: {error}") from None
    return json.loads(text) if text else {}


def root() -> Path:
    """The folder of all projects."""
    return next((Path(path) for path in ROOTS if os.path.isdir(path)), Path(ROOTS[-1]))


def project() -> Path:
    """The project whose folder, or one in it, is the working folder."""
    here = Path.cwd()
    if root() not in here.parents:
        raise Failed("Error: this is not an Astro project directory")
    return root() / here.relative_to(root()).parts[0]


def started() -> str:
    """The name of the project that was started; "" if none was."""
    try:
        return (root() / ".astro").read_text().split()[0]
    except (OSError, IndexError):
        return ""


def config(name: str, default: str) -> str:
    """A value such as ``webserver.port`` of the started project."""
    outer, _, inner = name.partition(".")
    try:
        text = (root() / started() / ".astro/config.yaml").read_text()
    except OSError:
        return default
    found = re.search(rf"^{outer}:\n(?:[ ]+.*\n)*?[ ]+{inner}: *[\"']?([\w.-]+)", text, re.MULTILINE)
    return found[1] if found else default


# astro


def init() -> None:
    """Make the files of a new project that are not there yet."""
    here = Path.cwd()
    if not (here / ".astro").is_dir():
        (here / ".astro").mkdir()
        (here / ".astro/config.yaml").write_text(f"project:\n    name: {here.name}\n")
    for name, text in FILES.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        if not (here / name).exists():
            (here / name).write_text(text)
    print(f"Initialized empty Astro project in {here}")


def start() -> None:
    """Start Airflow on the project, and wait until it has read the DAG files."""
    here, began = project(), datetime.now(UTC)
    if not (here / "Dockerfile").is_file() or not (here / ".astro").is_dir():
        raise Failed("Error: this is not an Astro project directory. Run 'astro dev init'")
    (root() / ".astro").write_text(f"{here.name} {time.time_ns()}\n")
    print("Project image has been updated")
    waiting = {path.name for path in here.glob("dags/**/*.py") if re.search(rb"(?i)airflow", path.read_bytes())}
    until = time.monotonic() + TIMEOUT
    while waiting and time.monotonic() < until:
        dags = ask("GET", "/dags?limit=100&only_active=false")["dags"]
        read = [(dag["fileloc"], dag["last_parsed_time"]) for dag in dags]
        read += [(each["filename"], each["timestamp"]) for each in ask("GET", "/importErrors")["import_errors"]]
        waiting -= {Path(name).name for name, when in read if when and datetime.fromisoformat(when) >= began}
        time.sleep(0.5)
    if waiting:
        raise Failed(f"Error: Airflow has not read {', '.join(sorted(waiting))} within {TIMEOUT:g} s")
    port = config("webserver.port", str(AIRFLOW))
    if port != str(AIRFLOW):
        forward(port)
    print("Project is running! All components are now available.\n")
    print(f"Airflow Webserver: http://localhost:{port}\nThe default Airflow UI credentials are: admin:admin")


def forward(port: str) -> None:
    """Let Airflow's pages be at another port too, until the machine ends."""
    if not (port.isdigit() and 1024 <= int(port) < 65536):
        raise Failed(f"Error: webserver.port is {port!r}; legal is 1024 to 65535")
    try:
        server = socket.create_server(("127.0.0.1", int(port)))
    except OSError as error:
        if answers(port):
            return  # since an earlier start
        raise Failed(f"Error: port {port}: {error}") from None
    with server:
        argv = [sys.executable, "-I", os.path.realpath(__file__), "--forward", str(server.fileno())]
        null = subprocess.DEVNULL
        subprocess.Popen(argv, start_new_session=True, stdout=null, stderr=null, pass_fds=[server.fileno()])


def answers(port: str) -> bool:
    """Whether Airflow answers at a port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            return b"metadatabase" in answer.read()
    except OSError:
        return False


def serve(file: int) -> None:
    """Take connections of a listening socket, by its number, and pass on what comes and goes."""
    with socket.socket(fileno=file) as server:
        while True:
            one = server.accept()[0]
            try:
                other = socket.create_connection(("127.0.0.1", AIRFLOW))
            except OSError:
                one.close()
                continue
            for source, target in ((one, other), (other, one)):
                threading.Thread(target=pump, args=(source, target), daemon=True).start()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Pass on what one side sends, until it ends."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def stop() -> None:
    """End Airflow's scheduler; its pages stay."""
    (root() / ".astro").write_text("\n")


def containers() -> list[tuple[str, str, str]]:
    """Id, name and ports of what upstream has as containers."""
    name = started()
    if not name:
        return []
    stem = f"{name.lower()}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"
    ports = {"webserver": f"127.0.0.1:{config('webserver.port', str(AIRFLOW))}->8080/tcp", "postgres": "5432/tcp"}
    names = [(f"{stem}-{part}-1", ports.get(part, "")) for part in PARTS]
    return [(hashlib.sha256(name.encode()).hexdigest()[:12], name, port) for name, port in names]


def astro_ps() -> None:
    """``astro dev ps``: the project's containers."""
    table(["Name", "State", "Ports"], [[name, "running", port or "-"] for _, name, port in containers()])


def set_config(words: Sequence[str]) -> None:
    """``astro config set webserver.port 8002``."""
    words = [word for word in words if not word.startswith("-")]
    if len(words) != 2 or words[0].count(".") != 1:
        raise Failed("Error: usage: astro config set KEY VALUE")
    (outer, inner), path = words[0].split("."), project() / ".astro/config.yaml"
    lines = [line for line in (path.read_text() if path.is_file() else "").splitlines() if line.strip()]
    at = lines.index(f"{outer}:") + 1 if f"{outer}:" in lines else len(lines) + 1
    lines = lines if f"{outer}:" in lines else [*lines, f"{outer}:"]
    lines = [line for k, line in enumerate(lines) if k < at or not line.strip().startswith(f"{inner}:")]
    lines.insert(at, f"    {inner}: {words[1]}")
    path.write_text("\n".join(lines) + "\n")
    print(f"Setting {words[0]} to {words[1]} successfully")


def run_dag(dag: str) -> None:
    """``astro run DAG``: run it once, to its end."""
    run = ask("POST", f"/dags/{dag}/dagRuns", {"conf": {}})["dag_run_id"]
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        state = ask("GET", f"/dags/{dag}/dagRuns/{run}")["state"]
        if state in ("success", "failed"):
            print(f"DAG {dag}: {state}")
            return
        time.sleep(0.5)
    raise Failed(f"{dag}: the run did not end")


def astro(words: Sequence[str]) -> None:
    """The command ``astro``."""
    simple: Mapping[str, Callable[[], None]] = {
        "init": init, "start": start, "restart": start, "stop": stop, "kill": stop, "ps": astro_ps,
    }  # fmt: skip
    if words[:1] == ["dev"] and len(words) > 1 and words[1] in simple:
        simple[words[1]]()
    elif words[:2] == ["dev", "run"]:
        airflow(words[2:])
    elif words[:2] == ["config", "set"]:
        set_config(words[2:])
    elif words[:2] == ["config", "get"] and len(words) == 3:
        print(f"{words[2]}: {config(words[2], '')}")
    elif words[:1] == ["run"] and len(words) == 2:
        run_dag(words[1])
    elif words[:1] == ["version"]:
        print("Astro CLI Version: 1.25.0")
    else:
        raise Failed(f"astro {' '.join(words)}: not supported here; legal are dev {', '.join(simple)} and run, config")


# docker


def docker(words: Sequence[str]) -> None:
    """The command ``docker``."""
    if words[:1] == ["ps"] or words[:2] == ["container", "ls"]:
        rows = [
            [key, f"{name.rsplit('-', 2)[0]}/airflow:latest", '"tini"', "now", "Up", port, name]
            for key, name, port in containers()
        ]
        table(["CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"], rows)
    elif words[:1] == ["exec"]:
        execute(list(words[1:]))
    else:
        raise Failed(f"docker {' '.join(words)}: not supported here; legal are ps and exec")


def execute(words: list[str]) -> None:
    """``docker exec``: Airflow's own commands."""
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in ("-u", "--user", "-e", "-w") else 1]
    if not words or not any(words[0] in (key, name) for key, name, _ in containers()):
        raise Failed(f"Error response from daemon: No such container: {words[0] if words else ''}")
    if words[1:2] != ["airflow"]:
        raise Failed(f"docker exec: {' '.join(words[1:])}: not supported here; legal are airflow's commands")
    airflow(words[2:])


# airflow


def airflow(words: Sequence[str]) -> None:
    """The commands of ``airflow`` that scripts and people use most."""
    words = list(words[1:] if words[:1] == ["airflow"] else words)
    options = {"--dag-id": "", "-d": "", "-o": "", "--output": "", "-c": "", "--conf": "", "--state": ""}
    options |= {f"--conn-{name}": "" for name in ("type", "host", "schema", "login", "password", "port", "description")}
    plain = []
    while words:
        word = words.pop(0)
        name, sign, value = word.partition("=")
        if name in options:
            options[name] = value if sign else (words.pop(0) if words else "")
        elif not word.startswith("-"):
            plain.append(word)
    command = " ".join(plain[:2])
    if command not in COMMANDS:
        raise Failed(f"airflow {command}: not supported here; legal are {', '.join(COMMANDS)}")
    COMMANDS[command](plain[2:], options)


def _one(words: Sequence[str], options: Mapping[str, str]) -> str:
    found = (words[0] if words else "") or options["--dag-id"] or options["-d"]
    if not found:
        raise Failed("airflow: the id is missing")
    return found


def list_dags(words: Sequence[str], options: Mapping[str, str]) -> None:
    """All DAGs."""
    dags = ask("GET", "/dags?limit=100")["dags"]
    rows = [[dag["dag_id"], dag["fileloc"], ",".join(dag["owners"]), str(dag["is_paused"])] for dag in dags]
    table(["dag_id", "fileloc", "owners", "is_paused"], rows)


def list_runs(words: Sequence[str], options: Mapping[str, str]) -> None:
    """A DAG's runs, the newest first."""
    runs = ask("GET", f"/dags/{_one(words, options)}/dagRuns?limit=100&order_by=-execution_date")["dag_runs"]
    names = ["dag_id", "dag_run_id", "state", "execution_date", "start_date", "end_date"]
    table(["dag_id", "run_id", *names[2:]], [[str(run[name] or "") for name in names] for run in runs])


def details(words: Sequence[str], options: Mapping[str, str]) -> None:
    """All properties of a DAG."""
    found = ask("GET", f"/dags/{_one(words, options)}/details")
    interval = found.get("schedule_interval")
    if isinstance(interval, dict):
        found["schedule_interval"] = interval.get("value", json.dumps(interval))
    table(["property_name", "property_value"], [[name, str(value)] for name, value in found.items()])


def unpause(words: Sequence[str], options: Mapping[str, str], paused: bool = False) -> None:
    """Let a DAG be active, or paused."""
    dag = _one(words, options)
    ask("PATCH", f"/dags/{dag}?update_mask=is_paused", {"is_paused": paused})
    print(f"Dag: {dag}, paused: {paused}")


def pause(words: Sequence[str], options: Mapping[str, str]) -> None:
    """Pause a DAG."""
    unpause(words, options, True)


def trigger(words: Sequence[str], options: Mapping[str, str]) -> None:
    """Start a DAG by hand."""
    conf = options["-c"] or options["--conf"]
    run = ask("POST", f"/dags/{_one(words, options)}/dagRuns", {"conf": json.loads(conf) if conf else {}})
    names = ["dag_id", "dag_run_id", "state"]
    table(["conf", *names], [[json.dumps(run["conf"]).replace(" ", ""), *(str(run[name]) for name in names)]])


def import_errors(words: Sequence[str], options: Mapping[str, str]) -> None:
    """DAG files that cannot be read."""
    errors = ask("GET", "/importErrors")["import_errors"]
    table(["filepath", "error"], [[each["filename"], each["stack_trace"].strip().splitlines()[-1]] for each in errors])


def list_tasks(words: Sequence[str], options: Mapping[str, str]) -> None:
    """The ids of a DAG's tasks."""
    for task in ask("GET", f"/dags/{_one(words, options)}/tasks")["tasks"]:
        print(task["task_id"])


def connections(words: Sequence[str], options: Mapping[str, str]) -> None:
    """All connections."""
    names = ["connection_id", "conn_type", "description", "host", "schema", "login", "port"]
    found = ask("GET", "/connections?limit=100")["connections"]
    rows = [[str(each[name] or "") for name in names] + [uri(each)] for each in found]
    table(["conn_id", *names[1:], "get_uri"], rows)


def uri(each: Mapping[str, Any]) -> str:
    """A connection as one address."""
    login = f"{each['login']}:***@" if each["login"] else ""
    port = f":{each['port']}" if each["port"] else ""
    return f"{each['conn_type']}://{login}{each['host'] or ''}{port}/{each['schema'] or ''}"


def add_connection(words: Sequence[str], options: Mapping[str, str]) -> None:
    """Make a connection."""
    given = {name.removeprefix("--conn-"): value for name, value in options.items() if "conn-" in name and value}
    body = {"connection_id": _one(words, options), "conn_type": given.pop("type", "generic"), **given}
    ask("POST", "/connections", {**body, **({"port": int(body["port"])} if "port" in body else {})})
    print(f"Successfully added `conn_id`={body['connection_id']}")


def delete_connection(words: Sequence[str], options: Mapping[str, str]) -> None:
    """Delete a connection."""
    ask("DELETE", f"/connections/{_one(words, options)}")


COMMANDS: Mapping[str, Callable[[Sequence[str], Mapping[str, str]], None]] = {
    "dags list": list_dags, "dags list-runs": list_runs, "dags details": details, "dags unpause": unpause,
    "dags pause": pause, "dags trigger": trigger, "dags list-import-errors": import_errors, "tasks list": list_tasks,
    "connections list": connections, "connections add": add_connection, "connections delete": delete_connection,
}  # fmt: skip


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, with blanks between."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    for row in (header, *rows):
        print("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def main(argv: Sequence[str]) -> int:
    """Run the command by the name that it was called by."""
    name, words = os.path.basename(argv[0]), list(argv[1:])
    if words[:1] == ["--forward"]:
        serve(int(words[1]))
    try:
        (docker if name == "docker" else astro)(words)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
