"""A user behind an OpenAI-compatible endpoint: what it is sent, what reaches the agent, and what failures come to."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deskgym.envs.errors import DeskgymError
from deskgym.task_suites.table_analysis.turns import Fact
from deskgym.task_suites.table_analysis.users import CANNOT_SAY, make_user
from deskgym.task_suites.table_analysis.users_openai import EndpointUser, UserError, clean

FACTS = (Fact(("mean", "average"), "The arithmetic mean."), Fact(("unit", "gram"), "In grams."))


class Endpoint:
    """An OpenAI-compatible service on loopback that gives the responses it is told to, in turn."""

    def __init__(self):
        self.responses, self.requests = [], []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.requests.append((self.path, dict(self.headers), json.loads(body)))
                status, headers, content = endpoint.responses.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def says(self, text):
        self.gives(200, json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode())

    def gives(self, status, content=b"", **headers):
        self.responses.append((status, headers, content))

    def user(self, **settings):
        return make_user({"endpoint": self.url, "model": "tiny", **settings})


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    service = Endpoint()
    yield service
    service.server.shutdown()
    service.server.server_close()


def test_the_model_is_given_the_facts_and_the_question(endpoint, monkeypatch):
    monkeypatch.setenv("TINY_KEY", "s3cret")
    endpoint.says("Use the arithmetic mean. It is best.")
    assert endpoint.user(key_env="TINY_KEY")("Which average?", FACTS) == "Use the arithmetic mean."
    ((path, headers, body),) = endpoint.requests
    assert path == "/v1/chat/completions" and headers["Authorization"] == "Bearer s3cret"
    assert body["model"] == "tiny" and body["temperature"] == 0.0
    system, user = body["messages"]
    assert all(fact.answer in system["content"] for fact in FACTS) and user["content"] == "Which average?"


def test_no_question_is_too_long_for_the_service(endpoint):
    endpoint.says("Yes.")
    endpoint.user()("Which average? " + "x" * 10**6, FACTS)
    ((_, _, body),) = endpoint.requests
    assert body["messages"][1]["content"].startswith("Which average?") and len(body["messages"][1]["content"]) == 2000


def test_settings_that_are_null_are_left_to_the_service(endpoint):
    endpoint.says("Yes.")
    endpoint.user(temperature=None, max_tokens=None)("Round?", FACTS)
    ((_, headers, body),) = endpoint.requests
    assert set(body) == {"model", "messages"} and "Authorization" not in headers


def test_what_no_model_is_needed_for_is_not_sent(endpoint):
    user = endpoint.user()
    assert user("What is the answer?", FACTS) == CANNOT_SAY
    assert user("Which unit?", ()) == CANNOT_SAY
    assert not endpoint.requests


@pytest.mark.parametrize(
    "answer",
    [
        "```python\nx\n```",
        "Use df['mass'] please.",
        "penguins.groupby('island')",
        "Set x = 3.",
        "where species == 'Adelie'",
        "import pandas",
        "from pandas import read_csv",
        "Well. And then import numpy as np",
        "The mean.\n\ndef f(x): return x",
        "Try `df[mask]`.",
        "",
        "  \n ",
    ],
)
def test_code_never_reaches_the_agent(endpoint, answer):
    endpoint.says(answer)
    assert endpoint.user()("Which average?", FACTS) == CANNOT_SAY


@pytest.mark.parametrize(
    "answer, kept",
    [
        ("In grams, e.g. 3750. Or not.", "In grams, e.g. 3750."),
        ("Only birds of 3.5 kg and more", "Only birds of 3.5 kg and more"),
        ("Those >= 3000 g!\nReally.", "Those >= 3000 g!"),
        ('I said "the mean." Nothing else.', 'I said "the mean."'),
        ("Only goods from the import count.", "Only goods from the import count."),
        ("mass (in grams)", "mass (in grams)"),
    ],
)
def test_one_sentence_is_kept(answer, kept):
    assert clean(answer) == kept


def test_a_long_answer_is_cut():
    assert len(clean("word " * 1000)) <= 400


def test_a_failure_is_tried_once_more(endpoint):
    endpoint.gives(503)
    endpoint.says("In grams.")
    assert endpoint.user()("Which unit?", FACTS) == "In grams."


@pytest.mark.parametrize(
    "status, content, message, tries",
    [
        (500, b"", "failed 2 times: HTTP status 500", 2),
        (429, b"", "failed 2 times: HTTP status 429", 2),
        (401, b"", "refused: HTTP status 401", 1),
        (200, b"no json", "failed 2 times: its response is no chat completion: b'no json'", 2),
        (200, b'{"choices": []}', "no chat completion", 2),
        (200, b'{"choices": [{"message": {"content": null}}]}', "holds no text", 2),
        (200, b"x" * (1 << 21), "longer than 1048576 bytes", 2),
    ],
)
def test_a_bad_endpoint_is_a_clear_error(endpoint, status, content, message, tries):
    for _ in range(2):
        endpoint.gives(status, content)
    with pytest.raises(UserError, match=message) as caught:
        endpoint.user()("Which unit?", FACTS)
    assert endpoint.url in str(caught.value) and isinstance(caught.value, DeskgymError)
    assert len(endpoint.requests) == tries


def test_the_key_goes_to_no_other_host(endpoint, monkeypatch):
    monkeypatch.setenv("TINY_KEY", "s3cret")
    endpoint.gives(302, Location=f"{endpoint.url}/elsewhere")
    with pytest.raises(UserError, match="refused: HTTP status 302") as caught:
        endpoint.user(key_env="TINY_KEY")("Which unit?", FACTS)
    assert len(endpoint.requests) == 1 and "s3cret" not in str(caught.value)


def test_nobody_there_and_nobody_answering():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(UserError, match="failed 2 times: .*refused"):
            EndpointUser(url, "tiny")("Which unit?", FACTS)
        silent.listen()
        with pytest.raises(UserError, match="failed 2 times: timed out"):
            EndpointUser(url, "tiny", timeout=0.05)("Which unit?", FACTS)


def test_a_missing_key_is_named(endpoint, monkeypatch):
    monkeypatch.delenv("TINY_KEY", raising=False)
    with pytest.raises(UserError, match="set the environment variable TINY_KEY"):
        endpoint.user(key_env="TINY_KEY")("Which unit?", FACTS)
