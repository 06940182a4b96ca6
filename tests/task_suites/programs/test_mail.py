"""What is read of the mail's folders, and what an agent cannot do with its servers."""

import importlib.util
import json
from pathlib import Path

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs import mail

SITE = Path(mail.__file__).parent / "site"
LETTER = b"""From: Maya <maya@lindqvist.example>
To: Ada <ada@example.org>, bo@example.org
Subject: =?utf-8?q?Caf=C3=A9?=
Message-ID: <1@lindqvist.example>
X-RcptTo: bo@example.org, ada@example.org
Content-Type: text/plain; format=flowed

One line that is \r
wrapped.\r
Another.\r
\r
-------- Original Message --------\r
Theirs.\r
"""
PORTS = """
import socket
for port in (10025, 10143):
    try:
        socket.create_connection(("127.0.0.1", port), 3)
        print("open", port)
    except OSError as error:
        print("closed", port)
"""


@pytest.fixture
def state(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("mail_state", SITE / "state.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HOME", tmp_path)
    for name in ("outbox/new", "boxes/maya/cur", "boxes/maya/new", "boxes/maya/.Sent/cur", "boxes/maya/.Old.2019/cur"):
        (tmp_path / name).mkdir(parents=True)
    return module


def read(state, capsys):
    state.main()
    return json.loads(capsys.readouterr().out)


def test_letters_are_rows_with_their_marks(state, tmp_path, capsys):
    box = tmp_path / "boxes" / "maya"
    (box / "cur" / "1.x:2,FRSa").write_bytes(LETTER)
    (box / "dovecot-keywords").write_text("0 $Forwarded\n1 Junk\n")
    (box / "subscriptions").write_text("V\t2\n\nOld\t2019\n")
    found = read(state, capsys)
    (letter,) = found["letters"]
    assert (letter["box"], letter["folder"], letter["id"]) == ("maya", "INBOX", "<1@lindqvist.example>")
    assert (letter["subject"], letter["to"]) == ("Caf\xe9", "ada@example.org, bo@example.org")
    assert (letter["text"], letter["original"]) == ("One line that is wrapped.\nAnother.", "Theirs.")
    assert (letter["flagged"], letter["answered"], letter["deleted"]) == (True, True, False)
    assert letter["keywords"] == "$Forwarded"
    assert {row["name"]: row["listed"] for row in found["folders"]} == {"INBOX": True, "Sent": False, "Old/2019": True}


def test_the_copy_of_what_was_sent_is_no_letter_of_its_own(state, tmp_path, capsys):
    (tmp_path / "boxes/maya/.Sent/cur/1.x:2,S").write_bytes(LETTER)
    assert [row["folder"] for row in read(state, capsys)["letters"]] == ["Sent"]
    (tmp_path / "outbox/new/1.x").write_bytes(LETTER)
    found = read(state, capsys)
    assert not found["letters"]
    assert [row["received"] for row in found["outgoing"]] == ["ada@example.org, bo@example.org"]


def test_a_flood_of_letters_is_not_read(state, tmp_path, monkeypatch):
    monkeypatch.setattr(state, "MOST", 3)
    for number in range(4):
        (tmp_path / f"outbox/new/{number}.x").write_bytes(LETTER)
    with pytest.raises(SystemExit, match="4 letters; at most 3"):
        state.main()


@pytest.mark.sandbox
def test_an_agent_reaches_neither_of_the_servers_behind_the_page():
    with gym.make("deskgym/BPM-v0", task="mail/flag", action="code", screen_size=(1280, 720)) as env:
        env.reset(seed=1)
        assert env.step(PORTS)[0]["feedback"].split("\n")[:2] == ["closed 10025", "closed 10143"]
