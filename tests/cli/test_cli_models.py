"""The command line with a model: the whole way with the test model, resumed runs, and what is not legal."""

import json

import pytest
from fake_suite import CopyTask

FAKE = ("--machine", "fake", "--screen", "160x120")
LLM = ("run", "science", "--agent", "llm", *FAKE)


@pytest.mark.parametrize("kind", ["llm", "llm:seeact", "llm:disentangled"])
def test_the_test_model_solves_what_the_oracle_solves(cli, kind):
    status, out, err = cli("run", "science", "--agent", kind, "--model", "oracle", "--episodes", "2", *FAKE)
    assert status == 0, err
    assert "2 solved; mean score 1 over 2 evaluated" in out and "prompt tokens" in out


@pytest.mark.parametrize("api", ["responses", "anthropic"])
def test_so_it_does_with_its_vendors_tool(cli, api):
    status, out, err = cli("run", "science", "--agent", "llm:computer_use", "--model", "oracle", "--api", api, *FAKE)
    assert status == 0 and "1 solved" in out, err


@pytest.mark.parametrize(("limit", "solved"), [((), 1), (("--max-steps", "1"), 0)])
def test_its_programs_are_short_so_they_may_be_many(cli, monkeypatch, limit, solved):
    monkeypatch.setattr(CopyTask, "max_steps", 1)
    status, out, err = cli(*LLM, "--model", "oracle", "--json", *limit)
    assert status == 0 and json.loads(out)["outcomes"].get("solved", 0) == solved, err


def test_options_reach_the_agent_the_model_and_the_recording(cli, tmp_path):
    options = ("--set", "sees=som", "--set", "form=computer", "--set", "model.context=100000", "--price", "1,2")
    status, out, _ = cli(*LLM, "--model", "oracle", *options, "--record", str(tmp_path), "--json")
    assert status == 0
    told = json.loads(out)["model"]
    assert told["requests"] == 3 and told["dollars"] > 0
    (episode,) = (path for path in tmp_path.iterdir() if path.is_dir())
    player = json.loads((episode / "agent.json").read_text())
    assert player["options"] == {"sees": "som", "form": "computer"} and player["model"]["context"] == 100000


def test_a_resumed_run_plays_what_is_missing(cli, tmp_path):
    record = ("--model", "oracle", "--record", str(tmp_path), "--parallel", "2")
    assert cli(*LLM, *record, "--episodes", "2")[0] == 0
    status, out, err = cli(*LLM, *record, "--episodes", "4", "--resume", "--json")
    assert status == 0 and "2 episodes are there already; 2 are left" in err
    data = json.loads(out)
    assert data["outcomes"] == {"solved": 4} and data["model"]["requests"] == 4
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 4
    other = ("--model", "oracle", "--record", str(tmp_path), "--resume")
    for changed in (("--agent", "noop"), ("--set", "sees=a11y"), ("--max-steps", "2"), ("--temperature", "1")):
        arguments = ("run", "science", *FAKE, *other, "--agent", "llm", *changed)
        if "noop" in changed:
            arguments = ("run", "science", *FAKE, *other[2:], *changed)
        status, _, err = cli(*arguments)
        assert status == 1 and "is of another run" in err
    status, out, _ = cli("results", str(tmp_path), "--json", "--against", str(tmp_path))
    data = json.loads(out)
    assert status == 0 and data["runs"][0]["solved"] == 4 and data["against"]["pairs"] == 4


def test_a_spent_budget_ends_the_run_with_one_line(cli):
    status, _, err = cli(*LLM, "--model", "oracle", "--price", "1000,1000", "--budget", "1", "--episodes", "3")
    assert status == 1 and "the budget is 1.0" in err and "Traceback" not in err


def test_a_model_that_fails_is_an_error_and_no_failure(cli):
    status, out, _ = cli(*LLM, "--model", "oracle:500", "--set", "model.retries=0", "--json")
    data = json.loads(out)
    assert status == 1 and data["outcomes"] == {"error": 1} and data["mean_score"] is None
    assert "gave no answer" in data["episodes"][0]["message"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (LLM, "needs --model NAME"),
        (("run", "science", "--model", "m", *FAKE), "did you mean llm"),
        (("run", "science", "--agent", "llm:guy", "--model", "oracle", *FAKE), "did you mean 'gui'"),
        ((*LLM, "--model", "oracle:rubish"), "did you mean 'rubbish'"),
        ((*LLM, "--model", "m", "--base-url", "here"), "legal is an address"),
        ((*LLM, "--model", "oracle", "--set", "see=som"), "did you mean 'sees'"),
        ((*LLM, "--model", "oracle", "--set", "model.contxt=9"), "did you mean 'context'"),
        ((*LLM, "--model", "oracle", "--price", "1"), "per million"),
        ((*LLM, "--model", "oracle", "--price", "a,b"), "legal are two numbers"),
        ((*LLM, "--model", "oracle", "--budget", "1"), "needs --price"),
        ((*LLM, "--model", "oracle", "--action", "code"), "says what it needs"),
        ((*LLM, "--model", "oracle", "--resume"), "needs --record"),
        ((*LLM, "--model", "oracle", "--parallel", "0"), "from 1 up"),
        ((*LLM, "--model", "oracle", "--api", "opnai"), "did you mean 'openai'"),
    ],
)
def test_what_is_not_legal_says_what_is(cli, arguments, said):
    status, out, err = cli(*arguments)
    assert status != 0 and said in err and "Traceback" not in err and len(err.strip().splitlines()) == 1
