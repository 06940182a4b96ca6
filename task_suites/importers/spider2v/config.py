"""The steps of upstream's ``config`` and ``postconfig`` that are no single app's."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks import programs
from deskgym.task_suites.importers.spider2v import windows
from deskgym.task_suites.importers.spider2v.apps import find_app
from deskgym.task_suites.importers.spider2v.frame import ConfigStep, PostStep, Scene, Stage
from deskgym.task_suites.importers.spider2v.guest.commands import COMMANDS
from deskgym.task_suites.importers.spider2v.record import Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import run_setup
from deskgym.task_suites.importers.spider2v.windows import open_command, open_page

_HOTKEY = re.compile(r"import pyautogui; *pyautogui\.hotkey\(((?:[\"']\w+[\"'](?:, *)?)+)\);?")


def run_step(record: UpstreamTask, index: int, setup: Setup) -> None:
    """Carry out the step of ``config`` with this index."""
    app = find_app(record.app)
    assert app is not None  # else it has reasons against it
    step = record.config[index]
    (app.config.get(step.type) or STEPS[step.type])(Stage(setup, record, app), step)


def check_setup(record: UpstreamTask, setup: Setup) -> None:
    """Raise SetupError where the app says that the setup did not leave what it should."""
    app = find_app(record.app)
    if app is not None and app.after_setup is not None:
        app.after_setup(Stage(setup, record, app))


def copy_file(stage: Stage, step: Step) -> None:
    """``copyfile_from_host_to_guest``: put one of the task's files into the machine."""
    stage.machine.put(step["dest"], content_of(step))


def content_of(step: Step) -> bytes:
    """The content of the file that a step copies; ``json_encode`` has the values of a JSON file in base64."""
    content = Path(step["src"]).read_bytes()
    if not step.parameters.get("json_encode"):
        return content
    values: Mapping[str, Any] = json.loads(content)
    coded = {key: base64.b64encode(str(value).encode()).decode() for key, value in values.items()}
    return json.dumps(coded).encode()


def run_script(stage: Stage, step: Step) -> None:
    """``script_and_execute``: run one of the task's scripts."""
    run_setup(stage, Path(step["src"]).read_text(), step["dest"])


def start_browser(stage: Stage, step: Step) -> None:
    """``google_chrome_browser``: the browser on an empty page, as upstream's search page needs the internet.

    It is left out where a later step opens it on the page of a service.
    """
    later = (stage.app.opens_page, stage.record.config)
    if not any(other.type in later[0] for other in later[1]):
        open_page(stage.setup, windows.NO_PAGE)


def launch(stage: Stage, step: Step) -> None:
    """``launch``: a program with a window, or a command that ends."""
    command = [str(word) for word in step["command"]]
    if command[0] in COMMANDS:
        open_command(stage.setup, command)
    elif command[:2] == ["bash", "-c"]:
        run_setup(stage, command[2], "/tmp/.spider2v-launch.sh")
    else:
        raise SetupError(f"launch: {command[0]!r} is not supported; legal are {', '.join(COMMANDS)} and bash -c")


def open_file(stage: Stage, step: Step) -> None:
    """``open``: a file in the program for its kind."""
    open_command(stage.setup, ["xdg-open", step["path"]])


def execute(stage: Stage, step: Step) -> None:
    """``execute``: run a command to its end."""
    programs.run(stage.setup, [str(word) for word in step["command"]])


STEPS: Mapping[str, ConfigStep] = {
    "copyfile_from_host_to_guest": copy_file,
    "script_and_execute": run_script,
    "google_chrome_browser": start_browser,
    "launch": launch,
    "open": open_file,
    "execute": execute,
}
"""Steps of ``config`` that every app has."""


# postconfig


def place_file(scene: Scene, step: Step) -> None:
    """``copyfile_from_host_to_guest``: a file for the evaluation's scripts; it never enters the agent's machine."""
    scene.placed[step["dest"]] = content_of(step)


def wait(scene: Scene, step: Step) -> None:
    """``sleep``: nothing; each step waits for what it brings about."""


def activate_window(scene: Scene, step: Step) -> None:
    """``activate_window``: bring a window of the setup's programs to the front; without it the keys go nowhere."""
    wanted, strict = step["window_name"], step.parameters.get("strict", False)
    scene.final.scratch["spider2v.window"] = None
    for window in reversed(scene.machine.guest.windows()):
        title = str(window["title"])
        if title == wanted or (not strict and wanted in title):
            scene.machine.guest.call("activate", id=window["id"])
            scene.final.scratch["spider2v.window"] = window
            return


def press_keys(scene: Scene, step: Step) -> None:
    """``execute`` of a pyautogui hotkey: press it in the window that was activated."""
    found = _HOTKEY.fullmatch(str(step["command"][-1]).strip())
    if found is None:
        raise RuntimeError(f"postconfig executes {step['command']!r}; legal is a hotkey of pyautogui")
    window = scene.final.scratch.get("spider2v.window")
    if window is None:
        return  # it is closed: what was saved counts
    keys = tuple(re.findall(r"\w+", found[1]))
    display = scene.machine.display
    windows.wait_until_idle(scene.machine, int(window["pid"]))  # what was typed is read, and the window has the focus
    display.perform(Action("press", keys=keys).check(display.size).events(), windows.PAINTED)
    windows.wait_until_idle(scene.machine, int(window["pid"]))


POST_STEPS: Mapping[str, PostStep] = {
    "copyfile_from_host_to_guest": place_file,
    "sleep": wait,
    "activate_window": activate_window,
    "execute": press_keys,
}
"""Steps of ``postconfig`` that every app has."""


def run_postconfig(scene: Scene) -> None:
    """Carry out all steps of ``postconfig``.

    Raises:
        CheckFailed: the agent left what one of them cannot be done with.
    """
    for step in scene.record.postconfig:
        (scene.app.postconfig.get(step.type) or POST_STEPS[step.type])(scene, step)


__all__ = ["CheckFailed", "POST_STEPS", "STEPS", "check_setup", "run_postconfig", "run_step"]
