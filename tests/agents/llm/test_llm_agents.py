"""Agents with a model: the whole way from the prompt to the reward, with models that know the answer and bad ones."""

import json
from functools import partial

import pytest
from fake_suite import CopyTask, FakeSource

from deskgym.agents.llm.base import without_oldest
from deskgym.agents.llm.computer_use import ComputerUseAgent
from deskgym.agents.llm.disentangled import DisentangledAgent
from deskgym.agents.llm.exchanges import read_exchanges, read_player
from deskgym.agents.llm.grounding import place
from deskgym.agents.llm.gui import GUIAgent
from deskgym.agents.llm.loading import KINDS, kind_of, maker
from deskgym.agents.llm.model import Model
from deskgym.agents.llm.oracle_server import FAULTS, OracleServer, server_for
from deskgym.agents.llm.seeact import SeeActAgent, step_of
from deskgym.agents.llm.settings import ModelSettings
from deskgym.agents.rollout import rollout
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError, SetupError
from deskgym.task_suites import find_entry
from deskgym.wrappers.observation.messages import message
from deskgym.wrappers.recording.record_episode import RecordEpisode

AGENTS = {
    "code": partial(GUIAgent, sees="screenshot", form="code"),
    "json": partial(GUIAgent, sees="screenshot+a11y", form="computer"),
    "marks": partial(GUIAgent, sees="som", form="computer"),
    "table of elements": partial(GUIAgent, sees="a11y", form="code", history=0),
    "planner and grounder": partial(SeeActAgent, grounding="thousand"),
    "coder and actor": partial(DisentangledAgent, grounding="unit"),
}


def env_for(agent, folder=None):
    options = agent.env_options()
    env = DesktopEnv(FakeSource(), machine="fake", screen_size=(160, 120), **options)
    env = agent.wrap(env)
    return RecordEpisode(env, folder) if folder else env


def played(make, server, folder=None, seed=3, **settings):
    api = settings.get("api")
    address = server.url.removesuffix("/v1") if api == "anthropic" else server.url
    with Model(ModelSettings("oracle", address, **settings)) as model:
        agent = make(model)
        env = env_for(agent, folder)
        try:
            return rollout(env, agent, seed=seed), agent
        finally:
            env.close()


@pytest.fixture
def oracle():
    with OracleServer() as server:
        yield server


@pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS)
def test_a_model_that_knows_the_answer_solves_the_task(make, oracle):
    result, agent = played(make, oracle)
    assert (result.outcome, result.message) == ("solved", "")
    assert agent.summary["requests"] == oracle.requests > 0 and agent.summary["prompt_tokens"] > 0


@pytest.mark.parametrize("api", ["responses", "anthropic"])
def test_so_does_one_with_its_vendors_computer_tool(api, oracle):
    result, agent = played(ComputerUseAgent, oracle, api=api)
    assert (result.outcome, result.message) == ("solved", "")


def test_an_oracle_that_gets_stuck_is_an_error_and_not_a_failure(oracle, monkeypatch):
    def stuck(self, screen):
        yield from [[Action("click", x=20, y=30)]]
        raise SetupError("no element 'Save'")

    monkeypatch.setattr(CopyTask, "oracle", stuck)
    result, _ = played(AGENTS["code"], oracle)
    assert result.outcome == "error" and "the oracle stopped: SetupError: no element 'Save'" in result.message


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS)
def test_a_bad_model_is_never_paid_and_never_breaks_the_run(make, fault):
    with OracleServer(fault) as server:
        result, _ = played(make, server, timeout=0.2 if fault == "slow" else 30, retries=0)
    assert result.outcome in ("failed", "error") and not result.score
    assert (result.outcome == "error") == (fault in ("429", "500", "slow", "no_choice", "no_json"))


@pytest.mark.parametrize("fault", ["rubbish", "empty", "wrong_tool", "500"])
@pytest.mark.parametrize("api", ["responses", "anthropic"])
def test_nor_one_with_a_computer_tool(api, fault):
    with OracleServer(fault) as server:
        result, _ = played(ComputerUseAgent, server, api=api, retries=0)
    assert result.outcome in ("failed", "error") and not result.score


def test_what_was_asked_and_said_is_in_the_recording(oracle, tmp_path):
    result, _ = played(AGENTS["code"], oracle, tmp_path)
    (episode,) = tmp_path.iterdir()
    lines = list(read_exchanges(episode))
    assert result.outcome == "solved" and [line["step"] for line in lines] == [0, 1]
    assert {"request", "response", "retries", "seconds", "role", "dropped"} <= set(lines[0])
    text = json.dumps(lines)
    assert "base64" not in text and "Answer with the number" in text
    names = {path.name for path in (episode / "images").iterdir()}
    assert names and all(name in text for name in names)
    assert read_player(episode)["model"]["name"] == "oracle" and "key" not in read_player(episode)["model"]


def test_a_history_that_is_too_long_is_shortened_and_says_so(oracle):
    oracle._answer = lambda body: {"text": "ok"}
    asked = []
    chat = [message("system", ["s"])]
    for k in range(6):
        chat += [message("user", [f"seen {k} " + "word " * 150]), message("assistant", ["did"])]
    chat.append(message("user", ["now"]))
    with Model(ModelSettings("oracle", oracle.url, max_tokens=10, context=1000)) as model:
        agent = GUIAgent(model, sees="a11y", form="code", history=3)
        agent._keep = lambda line: asked.append((line, agent.dropped))
        assert agent.ask(chat).text == "ok"
    assert agent.dropped > 0 and asked[-1][1] == agent.dropped
    sent = json.dumps(asked[-1][0]["request"])
    assert "now" in sent and "seen 5" in sent and "seen 0" not in sent


@pytest.mark.parametrize("make", AGENTS.values(), ids=AGENTS)
def test_who_cannot_read_the_task_has_failed_it(make):
    with OracleServer() as server:
        result, _ = played(make, server, max_tokens=10, context=100)
    assert result.outcome == "failed" and result.score == 0


@pytest.mark.parametrize("api", ["responses", "anthropic"])
def test_so_has_one_with_a_tool(api):
    with OracleServer() as server:
        result, _ = played(ComputerUseAgent, server, api=api, max_tokens=10, context=100)
    assert result.outcome == "failed" and result.score == 0


def test_the_message_that_tells_the_task_always_stays():
    chat = [message("system", ["s"]), *(message(role, [role]) for role in ("user", "assistant", "user"))]
    assert without_oldest(chat, kept=1) == chat[:2]
    assert without_oldest(chat[:2], kept=1) is None


def test_without_oldest_leaves_the_system_and_the_present():
    chat = [message("system", ["s"]), message("user", ["1"]), message("assistant", ["a"]), message("user", ["2"])]
    assert without_oldest(chat) == [chat[0], chat[3]]
    assert without_oldest([chat[0], chat[3]]) is None


@pytest.mark.parametrize(
    "said, frame, expected",
    [
        ("(12, 34)", "pixels", (12, 34)),
        ("The button is at <point>[[500, 250]]</point>.", "thousand", (80, 30)),
        ("<|box_start|>(100,100),(300,300)<|box_end|>", "thousand", (32, 24)),
        ("x=0.5, y=0.25", "unit", (80, 30)),
        ("x1=0, y1=0, x2=10, y2=20", "pixels", (5, 10)),
        ('{"point_2d": [500, 500]}', "thousand", (80, 60)),
        ("pyautogui.click(x=0.1, y=0.1)", "unit", (16, 12)),
        ("first (1, 1), no: (2, 2)", "pixels", (2, 2)),
        ("(160, 120)", "pixels", (159, 119)),
        ("(161, 10)", "pixels", None),
        ("(2, 0.5)", "unit", None),
        ("nowhere", "pixels", None),
        ("-5, 7", "pixels", None),
        ("", "unit", None),
    ],
)
def test_places_are_read_in_the_forms_that_models_use(said, frame, expected):
    assert place(said, frame, 160, 120) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ('CLICK the button "Add"', {"action": "click", "at": 'the button "Add"'}),
        ("DOUBLE CLICK the icon", {"action": "click", "clicks": 2, "at": "the icon"}),
        ("CLICK row 3 HOLDING ctrl+shift", {"action": "click", "keys": ["ctrl", "shift"], "at": "row 3"}),
        ("DRAG the slider TO the right end", {"action": "drag", "at": "the slider", "to": "the right end"}),
        ("SCROLL UP 3 AT the list", {"action": "scroll", "dy": -3, "at": "the list"}),
        ("SCROLL DOWN 5", {"action": "scroll", "dy": 5}),
        ("TYPE  two words, CLICK", {"action": "type", "text": " two words, CLICK"}),
        ("SCROLL DOWN 999", {"action": "scroll", "dy": 999}),
        ("TYPE line\nline", {"action": "type", "text": "line\nline"}),
        ("PRESS ctrl+s", {"action": "press", "keys": ["ctrl", "s"]}),
        ("MOVE TO the edge", {"action": "move", "at": "the edge"}),
        ("DONE", "DONE"),
        ("ANS 5", "ANS 5"),
        ("WAIT 2", "WAIT 2"),
    ],
)
def test_a_planners_steps(text, expected):
    assert step_of(text) == expected


@pytest.mark.parametrize("text", ["CLICK", "click the button", "SCROLL 3", "SCROLL UP 99999999", "import os", ""])
def test_what_is_no_step(text):
    with pytest.raises(ActionError, match="is no step"):
        step_of(text)


def test_names_of_agents():
    science, tables = find_entry("science"), find_entry("table_analysis")
    assert kind_of("llm", science) == "gui" and kind_of("llm", tables) == "table"
    with pytest.raises(ValueError, match="does not play 'table_analysis'; legal there are table"):
        kind_of("llm:gui", tables)
    assert kind_of("llm:seeact", science) == "seeact" and kind_of("oracle", science) is None
    with pytest.raises(ValueError, match="did you mean 'seeact'"):
        kind_of("llm:seact", science)
    assert all(maker(kind) for kind in KINDS)
    with pytest.raises(ValueError, match="did you mean 'sees'"):
        maker("gui", ["see=som"])
    with pytest.raises(ValueError, match="legal are NAME=VALUE"):
        maker("gui", ["som"])


@pytest.mark.parametrize(
    "make, said",
    [
        (partial(GUIAgent, sees="screen"), "did you mean 'screenshot'"),
        (partial(GUIAgent, form="python"), "legal are code, computer"),
        (partial(SeeActAgent, grounding="percent"), "legal are pixels, unit, thousand"),
        (ComputerUseAgent, "has no computer tool"),
    ],
)
def test_options_that_are_not_legal_say_what_is(make, said, oracle):
    with Model(ModelSettings("oracle", oracle.url)) as model, pytest.raises(ValueError, match=said):
        make(model)


def test_the_test_models_names():
    assert server_for("gpt-5") is None
    for name, delay, fault in (
        ("oracle", 0, ""),
        ("oracle:1.5", 1.5, ""),
        ("oracle:500", 0, "500"),
        ("oracle:cut", 0, "cut"),
    ):
        with server_for(name) as server:
            assert (server.delay, server.fault) == (delay, fault)
    with pytest.raises(ValueError, match="did you mean 'rubbish'"):
        server_for("oracle:rubish")
