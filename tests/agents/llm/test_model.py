"""The client: what a service may do wrong, limits, budgets, the cache, and what is sent."""

import json
import threading
import time

import cv2
import numpy as np
import pytest

from deskgym.agents.llm.apis import API
from deskgym.agents.llm.exchanges import Exchanges, image_path
from deskgym.agents.llm.images import data_url
from deskgym.agents.llm.model import Model
from deskgym.agents.llm.oracle_server import FAULTS, OracleServer
from deskgym.agents.llm.settings import BudgetSpent, ContextOverflow, ModelError, ModelRefused, ModelSettings
from deskgym.agents.llm.spending import Spending, Usage
from deskgym.agents.llm.tokens import TokenCounter
from deskgym.envs.errors import RunOver
from deskgym.wrappers.observation.messages import message

IMAGE = np.zeros((4, 6, 3), np.uint8)
CHAT = [message("system", ["You test."]), message("user", ["Look.", "Well?"], [IMAGE])]


class Echo(OracleServer):
    """Answers with what it was asked, so that it can be seen."""

    def __init__(self, **options):
        super().__init__(**options)
        self.bodies = []

    def _answer(self, body):
        self.bodies.append(body)
        return {"text": f"answer {len(self.bodies)}"}


@pytest.fixture
def echo():
    with Echo() as server:
        yield server


def model_at(server, **settings):
    address = server.url.removesuffix("/v1") if settings.get("api") == "anthropic" else server.url
    return Model(ModelSettings("test", address, **settings))


@pytest.mark.parametrize("api", list(API))
def test_each_api_sends_texts_and_images_and_reads_the_answer(echo, api):
    lines = []
    with model_at(echo, api=api) as model:
        reply = model.ask(CHAT, record=lines.append)
    assert reply.text == "answer 1" and reply.usage.answer > 0 and reply.usage.prompt > 0 and reply.id
    sent = json.dumps(echo.bodies[0])
    assert "You test." in sent and "Look." in sent and data_url(IMAGE).partition(",")[2] in sent
    assert "stream" not in sent or '"stream": false' in sent
    assert lines[0]["request"]["model"] == "test" and lines[0]["response"] and lines[0]["retries"] == 0


def test_a_chat_of_texts_alone_is_sent_as_texts(echo):
    with model_at(echo) as model:
        model.ask([message("user", ["one", "two"])])
    assert echo.bodies[0]["messages"] == [{"role": "user", "content": "one\n\ntwo"}]


@pytest.mark.parametrize("fault", sorted(set(FAULTS) - {"rubbish", "empty", "cut", "injection", "wrong_tool", "slow"}))
def test_a_service_that_fails_is_one_clear_error(fault):
    lines = []
    with OracleServer(fault) as server, model_at(server, retries=1) as model:
        with pytest.raises(ModelError) as caught:
            model.ask(CHAT, record=lines.append)
    assert isinstance(caught.value, ContextOverflow) == (fault == "overflow")
    assert "\n" not in str(caught.value) and lines[0]["error"]
    assert server.requests == (2 if fault in ("429", "500") else 1)


def test_a_slow_service_is_given_up():
    start = time.monotonic()
    with OracleServer("slow") as server, model_at(server, timeout=0.3, retries=0) as model:
        with pytest.raises(ModelError, match="[Tt]ime"):
            model.ask(CHAT)
    assert time.monotonic() - start < 20


def test_a_service_that_is_not_there_is_one_clear_error():
    with OracleServer() as server:
        pass
    with model_at(server, retries=0) as model, pytest.raises(ModelError, match="gave no answer"):
        model.ask(CHAT)


def test_an_unknown_model_ends_the_run(echo):
    with Model(ModelSettings("test", echo.url + "/nowhere")) as model:
        echo.handle = lambda request: request.send_error(404)
        with pytest.raises(ModelRefused) as caught:
            model.ask(CHAT)
    assert isinstance(caught.value, RunOver)


def test_what_could_cost_more_than_is_left_is_not_asked(echo):
    with model_at(echo, max_tokens=100, token_budget=1000) as model:
        asked = 0
        with pytest.raises(BudgetSpent, match="the budget is 1000"):
            for _ in range(100):
                model.ask([message("user", ["word " * 50])])
                asked += 1
        usage = model.spending.usage
    assert 0 < asked == echo.requests and usage.prompt + usage.answer <= 1000


def test_budgets_hold_for_requests_at_the_same_time():
    spending = Spending(ModelSettings("test", max_tokens=10, price=(1.0, 2.0), cost_budget=100e-6))
    most = Usage(30, 10)  # 50 millionths of a dollar
    with spending.reserved(most), spending.reserved(most):
        with pytest.raises(BudgetSpent), spending.reserved(Usage(1, 0)):
            pass
    with spending.reserved(most):
        spending.add(Usage(10, 5))
    assert spending.cost == pytest.approx(20e-6)


def test_the_cache_answers_the_same_request_once_whoever_asks(echo, tmp_path):
    with model_at(echo, cache=str(tmp_path)) as model:
        first = model.ask(CHAT, user="one")
        again = model.ask(CHAT, user="two")
        other = model.ask(CHAT[:1] + [message("user", ["else"])])
    assert (first.text, again.text, other.text) == ("answer 1", "answer 1", "answer 2")
    assert again.from_cache and not first.from_cache and model.spending.from_cache == 1
    with model_at(echo, cache=str(tmp_path)) as model:
        assert model.ask(CHAT).text == "answer 1"
    for path in tmp_path.rglob("*.json"):
        path.write_text("{broken")
    with model_at(echo, cache=str(tmp_path)) as model:
        assert model.ask(CHAT).text == "answer 3"


def test_requests_per_minute_are_kept(echo):
    with model_at(echo, requests_per_minute=120) as model:
        start = time.monotonic()
        for _ in range(4):
            model.ask(CHAT[:1])
    assert time.monotonic() - start > 1.4


def test_many_threads_wait_for_their_own_answers_at_the_same_time():
    with Echo(delay=0.5) as server, model_at(server) as model:
        got = []
        threads = [threading.Thread(target=lambda: got.append(model.ask(CHAT).text)) for _ in range(16)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(got)) == 16 and time.monotonic() - start < 4


def test_who_waits_can_be_let_go():
    with OracleServer("slow") as server, model_at(server) as model:
        ended = []

        def ask():
            with pytest.raises(RunOver, match="was stopped"):
                model.ask(CHAT)
            ended.append(True)

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(1)
        model.cancel()
        thread.join(5)
    assert ended


class Says(OracleServer):
    """Always sends the same body."""

    def __init__(self, body, status=200, headers=()):
        super().__init__()
        self.body, self.status, self.headers = body, status, headers

    def handle(self, request):
        self.requests += 1
        request.rfile.read(int(request.headers["Content-Length"]))
        data = json.dumps(self.body).encode()
        request.send_response(self.status)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(data))), *self.headers):
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)


MESSAGE = {"message": {"content": "ok"}}
ODD = [
    {"choices": {"a": 1}},
    {"choices": [None]},
    {"choices": [{"message": {"content": "ok"}, "logprobs": {"content": [{"token": "a", "logprob": None}]}}]},
    {"choices": [{"message": {"content": "ok"}, "token_ids": ["one"]}]},
]
TOLERATED = [
    {"choices": [MESSAGE], "usage": "x"},
    {"choices": [MESSAGE], "usage": {"prompt_tokens": "many", "completion_tokens": -5, "prompt_tokens_details": 7}},
    {"choices": [MESSAGE], "usage": {"prompt_tokens": -1e9}},
    {"choices": [{"message": {"content": "ok", "tool_calls": [None, "x"]}, "logprobs": "x"}]},
]


def test_token_ids_are_asked_for_and_read():
    body = {"choices": [MESSAGE | {"token_ids": [3, 4]}], "prompt_token_ids": [1, 2]}
    with Says(body) as server, Model(ModelSettings("m", server.url, token_ids=True)) as model:
        lines = []
        reply = model.ask(CHAT, record=lines.append)
    assert (reply.token_ids, reply.prompt_token_ids) == ([3, 4], [1, 2])
    assert lines[0]["request"]["return_token_ids"] is True


@pytest.mark.parametrize("body", ODD)
def test_a_response_that_makes_no_sense_is_a_model_error(body):
    lines = []
    with Says(body) as server, model_at(server) as model, pytest.raises(ModelError):
        model.ask(CHAT, record=lines.append)
    assert lines[0]["error"] and lines[0]["usage"]["prompt"] > 0


@pytest.mark.parametrize("body", TOLERATED)
def test_what_is_odd_beside_the_answer_does_no_harm(body):
    with Says(body) as server, model_at(server) as model:
        reply = model.ask(CHAT)
    assert reply.text == "ok" and reply.parts == [] and reply.usage.prompt > 0 and reply.usage.answer >= 0
    assert model.spending.usage.prompt == reply.usage.prompt


@pytest.mark.parametrize("body", [*ODD, *TOLERATED, {"choices": [MESSAGE], "usage": {"completion_tokens": 900}}])
def test_no_service_can_have_more_spent_than_the_budget(body):
    with Says(body) as server, model_at(server, max_tokens=100, token_budget=3000) as model:
        for _ in range(100):
            try:
                model.ask([message("user", ["word " * 50])])
            except BudgetSpent:
                break
            except ModelError:
                continue
    assert server.requests < 50


def test_prompts_are_not_sent_on_to_another_address():
    with Echo() as other, Says({}, 307, [("Location", f"{other.url}/chat/completions")]) as server:
        with model_at(server, retries=0) as model, pytest.raises(ModelError):
            model.ask(CHAT)
    assert other.requests == 0


def test_a_service_that_trickles_is_given_up(monkeypatch):
    def handle(request):
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        for _ in range(20):
            request.wfile.write(b" ")
            request.wfile.flush()
            time.sleep(0.3)

    with OracleServer() as server, model_at(server, timeout=1, retries=0) as model:
        server.handle = handle
        start = time.monotonic()
        with pytest.raises(ModelError, match="in time"):
            model.ask(CHAT)
    assert time.monotonic() - start < 5


def test_the_key_is_in_no_error_and_no_record(monkeypatch):
    monkeypatch.setenv("MINE", "sk-secret")
    lines = []
    with Says({"error": {"message": "bad key sk-secret"}}, 400) as server, model_at(server, key_env="MINE") as model:
        with pytest.raises(ModelError) as caught:
            model.ask(CHAT, record=lines.append)
    assert "sk-secret" not in str(caught.value) and "sk-secret" not in json.dumps(lines)


def test_where_there_is_no_service_the_run_ends():
    with OracleServer() as server:
        pass
    with model_at(server, retries=0) as model:
        for _ in range(2):
            with pytest.raises(ModelError) as caught:
                model.ask(CHAT)
            assert not isinstance(caught.value, RunOver)
        with pytest.raises(ModelRefused, match="is there a service"):
            model.ask(CHAT)


@pytest.mark.parametrize("api", ["openai", "responses", "anthropic"])
@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_an_image_is_sent_counted_and_kept_in_its_format(tmp_path, api, form):
    settings = ModelSettings("m", api=api, image_format=form)
    image = np.full((512, 1024, 3), 200, np.uint8)
    request = API[api].request(settings, [message("user", ["Look."], [image])], {})
    text = json.dumps(request)
    assert f"image/{form}" in text and {"png": "jpeg", "jpeg": "png"}[form] not in text
    counter = TokenCounter(settings)
    assert counter.image(512, 1024) < counter.request(request) < counter.image(512, 1024) + 30
    Exchanges(tmp_path, {}).add({"request": request})
    (kept,) = (tmp_path / "images").iterdir()
    assert kept.suffix == f".{form}" and image_path(tmp_path, f"images/{kept.name}") == kept
    assert cv2.imread(str(kept)).shape == image.shape


def test_a_text_is_never_taken_for_an_image(tmp_path):
    for text in ("data:image/png;base64,AAAA", "data:image/png;base64,A", "images/../../secret.png"):
        assert TokenCounter(ModelSettings("m")).request({"messages": [{"role": "user", "content": text}]}) > 0
        kept = Exchanges(tmp_path, {})
        kept.add({"request": {"messages": [{"role": "assistant", "content": [{"type": "text", "text": text}]}]}})
    assert not (tmp_path / "images").exists()
    (tmp_path / "secret.png").write_bytes(b"x")
    assert image_path(tmp_path, "images/../secret.png") is None


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"name": ""}, "no name"),
        ({"name": "m", "api": "opnai"}, "did you mean 'openai'"),
        ({"name": "m", "base_url": "localhost:8000"}, "legal is an address"),
        ({"name": "m", "max_tokens": 0}, "above 0"),
        ({"name": "m", "temperature": -1}, "from 0 up"),
        ({"name": "m", "cost_budget": 1.0}, "needs --price"),
        ({"name": "m", "price": [1]}, "per million"),
        ({"name": "m", "cache": "x", "temperature": 0.5}, "needs temperature=0"),
        ({"name": "m", "context": 1000}, "leaves nothing"),
        ({"name": 5}, "legal is a text"),
        ({"name": "m", "timeout": "abc"}, "legal is a number"),
        ({"name": "m", "retries": True}, "legal is a whole number"),
        ({"name": "m", "logprobs": "maybe"}, "legal is true or false"),
        ({"name": "m", "price": 5}, "per million"),
        ({"name": "m", "price": ["a", 1]}, "per million"),
        ({"name": "m", "base_url": "http://user:pw@127.0.0.1/v1"}, "has a user"),
        ({"name": "m", "tempratur": 1}, "did you mean 'temperature'"),
    ],
)
def test_settings_that_are_not_legal_say_what_is(settings, said):
    with pytest.raises(ValueError, match=said):
        ModelSettings.from_dict(settings)


def test_a_vendors_own_service_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ValueError, match="set the environment variable OPENAI_API_KEY"):
        Model(ModelSettings("m"))
    with pytest.raises(ValueError, match="set the environment variable MINE"):
        Model(ModelSettings("m", "http://127.0.0.1:1/v1", key_env="MINE"))


def test_settings_survive_json():
    settings = ModelSettings("m", "http://127.0.0.1:1/v1", price=(1.0, 2.0), context=9000)
    assert ModelSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_images_are_counted_as_the_vendors_count_them():
    openai, anthropic = TokenCounter(ModelSettings("m")), TokenCounter(ModelSettings("m", api="anthropic"))
    assert openai.image(1024, 1024) == 765 and openai.image(4096, 2048) == 1105  # OpenAI's own examples
    assert TokenCounter(ModelSettings("m", image_detail="low")).image(4096, 8192) == 85
    assert anthropic.image(1000, 1000) == 1334  # Anthropic's own table has 1,334
    picture = data_url(np.zeros((1024, 1024, 3), np.uint8))
    chat = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": picture}}]}]}
    assert 765 < openai.request(chat) < 800


def test_a_tokenizer_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        TokenCounter(ModelSettings("m", tokenizer=str(tmp_path)))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="cannot be read"):
        TokenCounter(ModelSettings("m", tokenizer=str(tmp_path)))


def test_a_tokenizer_counts(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    assert TokenCounter(ModelSettings("m", tokenizer=str(tmp_path))).text("a b a c") == 4


def test_an_image_is_encoded_once():
    image = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    assert data_url(image) is data_url(image)
    with pytest.raises(ValueError, match="uint8"):
        data_url(image.astype(np.float32))
