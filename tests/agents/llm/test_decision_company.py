"""Decision Company: a scripted model writes a dialogue; what it does wrong is mended or refused."""

import json

import pytest
import yaml

from deskgym.agents.llm.company import Bench, CompanyError, DecisionCompany
from deskgym.agents.llm.model import Model
from deskgym.agents.llm.oracle_server import OracleServer
from deskgym.agents.llm.settings import ModelSettings
from deskgym.task_suites import load_suite

QUESTIONS = [
    ("cheap", "How many sales has each channel? A dict `by_channel`, channel to number.", {"by_channel": "dict"},
     'by_channel = {str(k): int(v) for k, v in sales["channel"].value_counts().items()}',
     {"one channel only": 'by_channel = {str(k): int(v) for k, v in sales["channel"].value_counts().head(1).items()}',
      "shares": 'by_channel = {str(k): float(v) for k, v in sales["channel"].value_counts(normalize=True).items()}'}),
    ("mean", "What is the mean alcohol of the wines? As `strength`.", {"strength": "value"},
     'strength = float(wines["alcohol"].mean())',
     {"the median": 'strength = float(wines["alcohol"].median())', "all": 'strength = float(wines["alcohol"].sum())'}),
    ("rows", "A frame `few` with the first five rows of the wines.", {"few": "dataframe"},
     "few = wines.head(5)", {"ten rows": "few = wines.head(10)", "the last": "few = wines.tail(5)"}),
]  # fmt: skip


class Writers(OracleServer):
    """Plays the three roles; ``bad`` has answers that come first, by role."""

    def __init__(self, bad=None):
        super().__init__()
        self.bad = {role: list(answers) for role, answers in (bad or {}).items()}
        self.turn = 0

    def _answer(self, body):
        role, system = body["user"].partition(":")[2], body["messages"][0]["content"]
        if self.bad.get(role):
            return {"text": self.bad[role].pop(0)}
        name, query, result, code, wrong = QUESTIONS[self.turn]
        if role == "user":
            return {"text": json.dumps({"id": name, "query": query, "result": result, "difficulty": "easy"})}
        if role == "scientist" and "hurried analyst" in system:
            self.turn += 1
            return {"text": f"Here: {json.dumps(wrong)}"}
        if role == "scientist":
            return {"text": f"```python\n{code}\n```"}
        if "Think of" in system:
            return {
                "text": json.dumps(
                    [{"name": "Nils", "persona": "Nils, a buyer", "goal": "Buy well.", "title": "Buying"}]
                )
            }
        return {"text": '{"accept": true, "why": ""}'}


@pytest.fixture(scope="module")
def bench():
    pytest.importorskip("pandas")
    found = Bench("wines")
    yield found
    found.close()


def made(bench, server, **options):
    with Model(ModelSettings("writers", server.url)) as model:
        company = DecisionCompany(model, bench, "wines", turns=3, **options)
        (nils,) = company.personas(1)
        return company.dialogue(nils)


def test_a_dialogue_is_written_in_our_form_and_can_be_played(bench, tmp_path):
    with Writers() as server:
        text = made(bench, server)
    data = yaml.safe_load(text)
    assert data["id"] == "wines/nils" and [turn["id"] for turn in data["turns"]] == ["cheap", "mean", "rows"]
    (tmp_path / "wines-nils.yaml").write_text(text)
    ids = load_suite(str(tmp_path)).ids()
    assert {"wines/nils/normal/cheap", "wines/nils/normal/mean", "wines/nils/normal/rows"} <= set(ids)


@pytest.mark.parametrize(
    "bad",
    [
        {"administrator": ["nobody", '[{"name": "x"}]']},
        {"user": ["{", json.dumps({"id": "a", "query": "no variable", "result": {"x": "dict"}})]},
        {"user": [json.dumps({"id": "a", "query": "`x`", "result": {"x": "function"}})]},
        {"scientist": ["no code", "```python\n1 / 0\n```"]},
        {"scientist": ["```python\nby_channel = 7\n```", "```python\nother = {}\n```"]},
        {"scientist": ["```python\nby_channel = {'shop': 1}\n```", "```python\nby_channel = {'a': id(wines)}\n```"]},
    ],
)
def test_what_cannot_be_used_goes_back_to_its_author(bench, bad):
    with Writers(bad) as server:
        assert yaml.safe_load(made(bench, server))["turns"][2]["id"] == "rows"
    assert not any(server.bad.values())


def test_what_the_administrator_turns_down_is_asked_anew(bench):
    people = json.dumps([{"name": "Nils", "persona": "p", "goal": "g", "title": "t"}])
    said = []
    with Writers({"administrator": [people, '{"accept": false, "why": "ties are not said"}']}) as server:
        made(bench, server, note=said.append)
    assert any("ties are not said" in line for line in said)


def test_wrong_code_that_is_right_is_not_kept(bench):
    right = QUESTIONS[0][3]
    same = json.dumps({"the same": right, "broken": "1 / 0"})
    with Writers({"scientist": [f"```python\n{right}\n```", same]}) as server:
        wrong = yaml.safe_load(made(bench, server))["turns"][0]["wrong"]
    assert set(wrong) == {"one channel only", "shares"}


def test_who_never_says_what_can_be_used_writes_nothing(bench):
    with (
        Writers({"user": ["rubbish"] * 9}) as server,
        pytest.raises(CompanyError, match="no question could be used, 3"),
    ):
        made(bench, server)


def test_code_of_a_model_never_runs_on_this_host(bench, tmp_path):
    mark = tmp_path / "mark"
    evil = f"```python\nopen({str(mark)!r}, 'w').write('x')\n```"
    with Writers({"scientist": [evil]}) as server:
        made(bench, server)
    assert not mark.exists()


@pytest.mark.slow
def test_the_dialogue_is_proven(bench, tmp_path, capsys):
    from deskgym.cli import main

    with Writers() as server:
        (tmp_path / "wines-nils.yaml").write_text(made(bench, server))
    assert main(["verify", str(tmp_path), "--resets", "1"]) == 0
    assert "6 of 6 tasks are as they must be" in capsys.readouterr().out
