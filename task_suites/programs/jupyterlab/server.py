"""JupyterLab's tool environment and its prepared layers: settings, caches, and a browser that knows its pages.

The settings: no token, no Node.js, no news, no manager of extensions. They lie in the environment, so that the user's
own settings start empty.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.hooks.browser import COMMAND

HERE = Path(__file__).parent
PORT = 8888
PAGE = f"http://127.0.0.1:{PORT}/lab"
ENVIRONMENT = ToolEnvironment("jupyterlab", HERE / "requirements.txt")
PYTHON = f"{ENVIRONMENT.inside}/bin/python"
LAB = "/opt/deskgym/jupyterlab/lab.py"

_SERVER = {
    "ServerApp": {
        "ip": "127.0.0.1",
        "jpserver_extensions": {"jupyterlab": True, "jupyter_lsp": False, "notebook": False},  # LSP's runs npm
    },
    "IdentityProvider": {"token": ""},
    "LabApp": {
        "news_url": None,
        "check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
        "extension_manager": "readonly",
    },
}
_OFF = (
    "@jupyterlab/apputils-extension:announcements", "@jupyterlab/debugger-extension",
    "@jupyterlab/extensionmanager-extension", "@jupyterlab/hub-extension", "@jupyterlab/lsp-extension",
    "@jupyter-notebook/lab-extension",
)  # fmt: skip
_PAGE = {"disabledExtensions": dict.fromkeys(_OFF, True), "buildAvailable": False, "buildCheck": False}
_DEFAULTS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},  # what was not saved is not on the disk
}
_EMPTY = {
    "cells": [{"cell_type": "code", "id": "1", "metadata": {}, "execution_count": None, "outputs": [], "source": ""}],
    "metadata": {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def _file(path: str, content: object) -> tuple[str, bytes]:
    return f"{ENVIRONMENT.inside}/{path}", json.dumps(content, indent=2).encode()


CONFIG = LayerRecipe(
    "jupyterlab-config",
    files=(
        (LAB, HERE / "site" / "lab.py"),
        _file("etc/jupyter/jupyter_server_config.json", _SERVER),
        _file("etc/jupyter/labconfig/page_config.json", _PAGE),
        _file("share/jupyter/lab/settings/overrides.json", _DEFAULTS),
    ),
    bases=(ENVIRONMENT,),
    user="guest",
)

HOME = LayerRecipe(
    "jupyterlab-home",
    f"""
    {PYTHON} -c 'import matplotlib.font_manager'
    {PYTHON} -m IPython profile create
    """,
    bases=(CONFIG,),
)
"""The user's caches: else the first import of Matplotlib looks at all fonts, which takes seconds."""

BROWSER = LayerRecipe(
    "jupyterlab-browser",
    f"""
    mkdir /tmp/work
    mv ~/empty.ipynb /tmp/work
    {PYTHON} {LAB} {PORT} /tmp/work /tmp/ready >/dev/null 2>&1 & server=$!
    for visit in 1 2 3; do
        {shlex.join(COMMAND)} --start-maximized {PAGE}/tree/empty.ipynb >/dev/null 2>&1 & browser=$!
        for second in $(seq 60); do [ -e /tmp/ready ] && break; sleep 1; done
        [ -e /tmp/ready ]
        sleep 10
        kill $browser
        wait $browser || true
    done
    kill $server
    rm -rf ~/.config/chromium/Default/Sessions ~/.config/chromium/Singleton* ~/.jupyter ~/.local/share/jupyter
    [ -d ~/.cache/chromium/Default/"Code Cache"/js ]
    """,
    packages=("chromium",),
    files=(("/home/user/empty.ipynb", json.dumps(_EMPTY).encode()),),
    bases=(HOME,),
    screen_size=(1280, 720),
)
"""Chromium's caches of JupyterLab's pages, compiled scripts among them, which it keeps from the second visit on."""
