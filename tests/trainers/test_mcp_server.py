"""The MCP server: a client plays through the protocol, and does not hear of the reward."""

import contextlib
import json
import signal
import socket
import subprocess
import sys

import anyio
import pytest
from fake_suite import FakeSource

pytest.importorskip("mcp")

from mcp import Client

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.trainers.mcp_server import NOT_BEGUN, OVER, Player, make_server
from deskgym.trainers.session import Session


@pytest.fixture(params=["computer", "code"])
def player(request, monkeypatch):
    import gymnasium

    def make(env_id, **options):
        return DesktopEnv(FakeSource(), machine="fake", screen_size=(160, 120), **options)

    monkeypatch.setattr(gymnasium, "make", lambda env_id, disable_env_checker, **options: make(env_id, **options))
    told = []
    session = Session(
        "x", action=request.param, observation=("screenshot", "instruction", "feedback"), invalid_action="feedback"
    )
    player = Player(session, told.append)
    player.results = told
    yield player
    player.close()


def talk(player, *calls):
    """What comes back from calls of tools, through the protocol."""

    async def go():
        async with Client(make_server(player)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(go)


def kinds(result):
    return [part.type for part in result.content]


def act(player, verb):
    if player.session.action_form == "code":
        return "act", {"code": f"pyautogui.{verb}"}
    return "act", {"action": {"action": "click", "x": 5, "y": 6}}


def number(result):
    """The answer cannot be seen on the fake's screen: here it is what the fake task makes of its seed."""
    return str(100 + result)


def test_a_client_plays_an_episode_and_does_not_hear_of_its_reward(player):
    seen, acted, ended, late = talk(
        player,
        ("reset", {"task": "fake/copy#3"}),
        act(player, "click(5, 6)"),
        ("finish", {"answer": number(3)}),
        act(player, "click(5, 6)"),
    )
    assert kinds(seen) == ["text", "image"] and "Answer with the number" in seen.content[0].text
    assert kinds(acted) == ["text", "image"]
    assert ended.content[0].text == late.content[0].text == OVER
    (result,) = player.results
    assert result["reward"] == 1.0 and result["verdict"]["success"] and result["task"] == "fake/copy#3"
    said = " ".join(part.text for each in (seen, acted, ended, late) for part in each.content if part.type == "text")
    assert "reward" not in said and "1.0" not in said


def test_the_reward_is_told_where_it_was_asked_for(player):
    player.tell = True
    *_, ended = talk(player, ("reset", {"task": "fake/copy#3"}), ("finish", {"answer": "7"}))
    assert ended.content[0].text.endswith("The reward is 0.0.")


def test_what_is_not_legal_is_said_and_the_episode_goes_on(player):
    bad = ("act", {"code": "DONT"}) if player.session.action_form == "code" else ("act", {"action": {"action": "clik"}})
    before, unknown, seen, wrong, ended = talk(
        player, bad, ("reset", {"task": "fake/cpy"}), ("reset", {"task": "fake/copy#1"}), bad, ("finish", {})
    )
    assert before.content[0].text == NOT_BEGUN
    assert "did you mean 'fake/copy'" in unknown.content[0].text
    assert kinds(seen) == ["text", "image"] and kinds(wrong) == ["text", "image"]
    assert player.results[0]["reward"] == 0.0


def test_a_client_that_goes_leaves_an_evaluated_episode(player):
    talk(player, ("reset", {"task": "fake/copy#1"}))
    player.close()
    assert [result["reward"] for result in player.results] == [0.0]


def test_only_the_tasks_that_were_named_may_be_played(player):
    player.tasks = "fake/other*"
    refused, seen = talk(player, ("reset", {"task": "fake/copy#1"}), ("observe", {}))
    assert "may not be played here" in refused.content[0].text and seen.content[0].text == NOT_BEGUN


def test_giving_up(player):
    talk(player, ("reset", {"task": "fake/copy#1"}), ("finish", {"impossible": True}))
    assert [result["reward"] for result in player.results] == [0.0]


@pytest.mark.sandbox
def test_the_command_serves_over_http_and_tells_its_operator(tmp_path):
    """A real client over HTTP plays a proof; its reward is a line of the server's stderr."""
    port, said = free_port(), tmp_path / "stderr"
    with said.open("wb") as stderr:
        arguments = ("serve", "proving", "--task", "proving/logic", "--port", str(port))
        server = subprocess.Popen([sys.executable, "-m", "deskgym.cli", *arguments], stderr=stderr)
        try:
            seen, ended = anyio.run(play, f"http://127.0.0.1:{port}/mcp")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
    assert "⊢" in seen.content[0].text
    assert ended.content[0].text == OVER
    told = [json.loads(line) for line in said.read_text().splitlines() if line.startswith("{")]
    assert [(each["task"].partition("#")[0], each["reward"]) for each in told] == [("proving/logic", 0.0)]


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


async def play(url):
    """A task begun and ended by a client, once its server listens."""
    for _ in range(600):
        with contextlib.suppress(OSError):
            await (await anyio.connect_tcp("127.0.0.1", int(url.split(":")[2].partition("/")[0]))).aclose()
            break
        await anyio.sleep(0.1)
    async with Client(url) as client:
        return await client.call_tool("reset", {"seed": 1}), await client.call_tool("finish", {})
