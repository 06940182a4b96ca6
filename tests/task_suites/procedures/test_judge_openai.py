"""A judge behind an OpenAI-compatible endpoint: what it is asked, what it says, and that it is asked once."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from deskgym.task_suites.procedures.judge_openai import JudgeError
from deskgym.task_suites.procedures.judges import make_judge


@pytest.fixture
def service(monkeypatch):
    """A service on loopback that says what it is told to, in turn; what it was asked is in ``asked``."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.asked.append((body["messages"][-1]["content"], self.headers["Authorization"]))
            message = {"role": "assistant", "content": self.server.says.pop(0)}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            said = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice]}
            text = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.says = [], []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def judge(service, tmp_path):
    return make_judge(
        {"endpoint": f"http://127.0.0.1:{service.server_address[1]}/v1", "model": "tiny", "cache": str(tmp_path)}
    )


def test_it_says_which_step_is_which_and_is_asked_once(service, judge):
    service.says = ['{"index": 1}', 'Well: {"index": -1}']
    for _ in range(2):
        assert judge.same_steps(["Save", "Sing"], ["Open", "Save it"]) == [1, -1]
    assert len(service.asked) == 2 and '1: "Save it"' in service.asked[0][0]


def test_an_answer_of_no_unicode_is_judged_and_a_cache_that_cannot_be_written_is_done_without(service):
    settings = {"endpoint": f"http://127.0.0.1:{service.server_address[1]}/v1", "model": "tiny", "cache": "/dev/null"}
    service.says = ['{"index": 0}'] * 2
    for _ in range(2):
        assert make_judge(settings).same_steps(["\ud800 x"], ["Save"]) == [0]
    assert len(service.asked) == 2


def test_the_published_scale_is_turned_so_that_higher_is_better(service, judge):
    service.says = ['{"score": 1}', '{"score": 2}', '{"score": 3}', '{"score": 1}']
    found = judge.answer_scores("Why?", "So.", "Because.")
    assert found == {"completeness": 1, "soundness": 0.5, "clarity": 0, "compactness": 1}
    assert ["Right answer" in text for text, _ in service.asked] == [True, True, False, False]


def test_what_is_no_answer_is_asked_again_and_then_an_error(service, judge):
    service.says = ["yes", '{"index": 7}', '{"index": 0}']
    assert judge.same_steps(["Save"], ["Save"]) == [0]
    service.says = ['{"index": true}'] * 3
    with pytest.raises(JudgeError, match="did not answer as it was asked, 3 times: index=True; legal are -1 to 0"):
        judge.same_steps(["Open"], ["Save"])


def test_a_key_that_is_not_set_and_an_endpoint_that_is_not_there_are_said(service, monkeypatch, tmp_path):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    settings = {"endpoint": "http://127.0.0.1:9/v1", "model": "tiny", "cache": str(tmp_path), "timeout": 1}
    with pytest.raises(JudgeError, match="set the environment variable NO_SUCH_KEY"):
        make_judge(settings | {"key_env": "NO_SUCH_KEY"}).same_steps(["a"], ["b"])
    with pytest.raises(JudgeError, match="failed"):
        make_judge(settings).same_steps(["a"], ["b"])
