"""Where the values come from that upstream's metrics compare."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.checks.web import read_page
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.task_suites.importers.spider2v.frame import ResultGetter, Scene
from deskgym.task_suites.importers.spider2v.layout import HOME
from deskgym.task_suites.importers.spider2v.metrics import Value
from deskgym.task_suites.importers.spider2v.record import Getter
from deskgym.task_suites.importers.spider2v.scripts import output_of, run_evaluation

FILE_LIMIT = 128 << 20
BROWSER = "chromium"
ADDRESS_BAR = "Address and search bar"
_LOCAL = ("localhost", "127.0.0.1", "::1")


def rule(scene: Scene, getter: Getter) -> Value:
    """``rule``: what is right, from the task's file."""
    value: Value = getter["rules"]
    return value


def local_file(scene: Scene, getter: Getter) -> Value:
    """``local_file``: one of the task's files on the host."""
    return Path(getter["path"])


def values(scene: Scene, getter: Getter) -> Value:
    """``list``: what is right, from the task's file."""
    value: Value = getter["list"]
    return value


def vm_file(scene: Scene, getter: Getter) -> Value:
    """``vm_file`` as a result: a file that the agent left; None where there is none."""
    return _file(scene.machine, getter["path"])


def made_file(scene: Scene, getter: Getter) -> Value:
    """``vm_file`` as what is right: a file that the evaluation's scripts made."""
    return _file(scene.clean, getter["path"])


def _file(machine: Machine, path: str) -> bytes | None:
    try:
        return machine.get(path, limit=FILE_LIMIT)
    except GuestCallError as error:
        if error.kind in ("FileNotFoundError", "NotADirectoryError"):
            return None
        raise CheckFailed(f"{path}: {error}") from error


def vm_script_output(scene: Scene, getter: Getter) -> Value:
    """``vm_script_output``: what a script of the task prints."""
    return run_evaluation(scene, Path(getter["src"]).read_text(), getter["dest"])


def vm_command_line(scene: Scene, getter: Getter) -> Value:
    """``vm_command_line``: what a command prints."""
    command = getter["command"]
    argv = ["/bin/bash", "--noprofile", "--norc", "-c", command] if isinstance(command, str) else list(command)
    return output_of(scene.clean, argv, scene.app.environment)


def dbt_profiles(scene: Scene, getter: Getter) -> Value:
    """``dbt_profiles``: the first ``profiles.yml`` in some folders of the home folder."""
    for folder in getter["dirs"]:
        path = posixpath.normpath(str(folder).replace("~", HOME, 1).replace("$HOME", HOME))
        if path.startswith(HOME) and (found := _file(scene.machine, f"{path}/profiles.yml")) is not None:
            return found
    return None


# The browser


def page_of(scene: Scene) -> Mapping[str, str]:
    """``url``, ``title`` and ``text`` of the page in front of the browser that the setup opened.

    Raises:
        CheckFailed: it shows none.
    """
    page = scene.final.read_once("spider2v.page", lambda machine: read_page(machine, BROWSER))
    if "problem" in page:
        raise CheckFailed(page["problem"])
    return page


def address(scene: Scene, getter: Getter) -> str:
    """The address in the bar with upstream's prefix; in ``corrected`` mode that of the page which is shown.

    Raises:
        CheckFailed: there is no bar, or no page.
    """
    if scene.mode == "corrected":
        return page_of(scene)["url"]
    text = scene.final.read_once("spider2v.bar", _read_bar)
    return text if "://" in text else f"{getter.fields.get('goto_prefix', 'https://')}{text}"


def _read_bar(machine: Machine) -> str:
    root = AccessibleProgram(machine, BROWSER).tree()
    bars = [] if root is None else root.find_all("entry", ADDRESS_BAR)
    if not bars:
        raise CheckFailed(f"{BROWSER} shows no address bar")
    return bars[0].text


def active_url(scene: Scene, getter: Getter) -> Value:
    """``active_url_from_accessTree``: the address."""
    return address(scene, getter)


def active_tab_info(scene: Scene, getter: Getter) -> Value:
    """``active_tab_info``: the page's address, title and text."""
    page = page_of(scene)
    return {"url": page["url"], "title": page["title"], "content": page["text"]}


def validate_correct_url(scene: Scene, getter: Getter) -> Value:
    """``validate_correct_url``: whether the address has all the parts that a script prints, with commas between.

    In ``corrected`` mode it must be an address of the service that the setup opened, too.
    """
    url = address(scene, getter)
    output = run_evaluation(scene, Path(getter["src"]).read_text(), getter["dest"]).strip()
    parts = [part.strip() for part in output.split(",") if part.strip()]
    if not parts:
        raise CheckFailed("the script that says what the address must have printed nothing")
    if scene.mode == "corrected":
        origins = {origin_of(str(step["url"])) for step in scene.record.config if "url" in step.parameters}
        if origins and origin_of(url) not in origins:
            return f"URL verification failed: {url} is no address of {', '.join(sorted(origins))}"
    missing = [part for part in parts if part not in url and unquote(part) not in unquote(url)]
    return f"URL verification failed: {url} lacks {', '.join(missing)}" if missing else "URL verification succeed"


def origin_of(url: str) -> str:
    """Host and port; one name for all of this machine's."""
    split = urlsplit(url if "://" in url else f"http://{url}")
    host = "localhost" if split.hostname in _LOCAL else split.hostname
    return f"{host}:{split.port or (443 if split.scheme == 'https' else 80)}"


RESULTS: Mapping[str, ResultGetter] = {
    "vm_file": vm_file,
    "vm_script_output": vm_script_output,
    "vm_command_line": vm_command_line,
    "dbt_profiles": dbt_profiles,
    "active_url_from_accessTree": active_url,
    "active_tab_info": active_tab_info,
    "validate_correct_url": validate_correct_url,
}
"""Getters of a ``result`` that every app has."""

EXPECTED: Mapping[str, ResultGetter] = {
    "rule": rule,
    "local_file": local_file,
    "list": values,
    "vm_file": made_file,
}
"""Getters of what is ``expected``."""
