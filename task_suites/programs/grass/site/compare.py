"""Runs GRASS's modules over the agent's maps, and over what the right commands make, in the clean machine.

It reads a JSON text from its standard input: ``asked`` (commands that are run on both), ``right`` (commands that make
the right maps), ``session`` (the program that runs a module), ``gisrc`` (the file that a session begins with),
``data`` (the folder of locations, as it is at first), ``theirs`` (the agent's, or ""), ``mapset`` (commands that go to
the mapset of theirs). It prints what the commands print, as ``theirs`` and ``ours``.
The agent's are asked before the right maps are made, since the agent's may name any table of this machine as theirs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from typing import Any

LIMIT = 20_000  # characters of an answer that are printed; a longer one is told apart by its digest
TIMEOUT = 40.0  # seconds


def main(task: dict[str, Any]) -> dict[str, list[str]]:
    """The answers of both; an answer begins with ``!`` where its command failed."""
    found: dict[str, list[str]] = {"theirs": [], "ours": []}
    if task["theirs"]:
        with open(task["gisrc"]) as file:
            text = file.read()
        with open("/tmp/theirs.gisrc", "w") as file:
            file.write(text.replace(task["data"], task["theirs"]))
        os.environ["GISRC"] = "/tmp/theirs.gisrc"
        for command in task["mapset"]:
            answer(task, command)
        found["theirs"] = [answer(task, command) for command in task["asked"]]
        os.environ["GISRC"] = task["gisrc"]
    for command in task["right"]:
        said = answer(task, command)
        if said.startswith("!"):
            raise SystemExit(f"{command}: {said}")
    found["ours"] = [answer(task, command) for command in task["asked"]]
    return found


def answer(task: dict[str, Any], command: str) -> str:
    """What a command prints."""
    argv = [task["session"], *shlex.split(command)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"!it took longer than {TIMEOUT:g} s"
    if done.returncode:
        return f"!{done.stderr.strip()[-800:]}"
    said = done.stdout.strip()
    if len(said) <= LIMIT:
        return said
    digest = hashlib.sha256(said.encode()).hexdigest()
    return f"{said[:LIMIT]} ... {len(said)} characters, SHA-256 {digest}"


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))
