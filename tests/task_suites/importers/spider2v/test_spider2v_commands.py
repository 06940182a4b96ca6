"""The desktop commands of upstream's scripts: what they become here."""

import json

import pytest

from deskgym.task_suites.importers.spider2v.guest import commands
from deskgym.task_suites.importers.spider2v.guest.commands import BROWSER, COMMANDS, EDITOR, OFFICE, TERMINAL, Usage
from deskgym.task_suites.importers.spider2v.layout import SETUP_BIN


@pytest.mark.parametrize(
    ("typed", "program", "rest"),
    [
        ("gnome-terminal --maximize --working-directory=/a", TERMINAL, ["--maximize", "--working-directory=/a"]),
        ("gnome-terminal --working-directory /a -t b", TERMINAL, ["--working-directory=/a", "--title=b"]),
        ("gnome-terminal -- bash -c ls", TERMINAL, ["-x", "bash", "-c", "ls"]),
        ("gnome-terminal -e ls", TERMINAL, ["-x", "bash", "-c", "ls"]),
        ("code /a --disable-workspace-trust", EDITOR, ["/a"]),
        ("code -r --goto a.py:3:1 --user-data-dir /x b.py", EDITOR, ["a.py", "+3", "b.py"]),
        ("gedit /a.txt", EDITOR, ["/a.txt"]),
        ("google-chrome --remote-debugging-port=1337 http://a/", BROWSER, ["http://a/"]),
        ("xdg-open http://a/", BROWSER, ["http://a/"]),
        ("xdg-open /a.xlsx", OFFICE, ["/a.xlsx"]),
        ("xdg-open /a.sql", EDITOR, ["/a.sql"]),
    ],
)
def test_a_command_becomes_the_program_that_is_here(typed, program, rest):
    name, *arguments = typed.split()
    assert COMMANDS[name](arguments) == [*program, *rest]


@pytest.mark.parametrize("typed", ["gnome-terminal --zoom=2", "gnome-terminal --title", "xdg-open a b", "xdg-open"])
def test_what_is_not_supported_is_said(typed):
    name, *arguments = typed.split()
    with pytest.raises(Usage, match=name):
        COMMANDS[name](arguments)


def test_a_setup_notes_what_is_to_be_opened(tmp_path, monkeypatch, capsys):
    queue = tmp_path / "queue"
    monkeypatch.setenv(commands.QUEUE, str(queue))
    monkeypatch.setenv("DAGSTER_HOME", "/d")
    monkeypatch.setenv("PATH", f"{SETUP_BIN}:/usr/bin:/bin")
    assert commands.main("code", ["/a"]) == 0
    told = json.loads(queue.read_text())
    assert told["argv"] == [*EDITOR, "/a"] and told["env"]["DAGSTER_HOME"] == "/d" and commands.QUEUE not in told["env"]
    assert told["env"]["PATH"] == "/usr/bin:/bin"  # the setup's own sleep, which does not wait, is not the agent's
    assert commands.main("gnome-terminal", ["--zoom"]) == 2
    assert "--zoom is not supported" in capsys.readouterr().err
