"""Exports of what agents with a model saw and said."""

import json

import cv2
import numpy as np
import pytest
from test_run_results import episode

from deskgym.agents.llm.exchanges import Exchanges
from deskgym.agents.llm.images import data_url
from deskgym.cli.main import main
from deskgym.datasets.rollout_export import samples, write_atif, write_chat, write_parquet
from deskgym.wrappers.recording.recording import find_recordings

IMAGE = np.full((4, 6, 3), 7, np.uint8)


@pytest.fixture
def recordings(tmp_path):
    """Two episodes; the first has seen a picture, and was asked by Anthropic's API too."""
    for name, score in (("a", 1), ("b", 0)):
        episode(tmp_path / "run", f"{name}#1", score, name)
    player = {"agent": "gui", "model": {"name": "m"}}
    kept = Exchanges(tmp_path / "run" / "a", player)
    url = data_url(IMAGE)
    part = {"type": "image_url", "image_url": {"url": url}}
    openai = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, part]},
        ],
    }
    logprobs = {"content": [{"token": "DO", "logprob": -0.5}, {"token": "NE", "logprob": -0.25}]}
    choice = {"message": {"content": "DONE"}, "finish_reason": "stop", "logprobs": logprobs, "token_ids": [5, 6]}
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    kept.add({"step": 1, "role": "agent", "api": "openai", "request": openai,
              "response": {"choices": [choice], "usage": usage, "prompt_token_ids": [1, 2, 3]}})  # fmt: skip
    source = {"type": "base64", "media_type": "image/png", "data": url.partition(",")[2]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": source}]}
    anthropic = {"system": "be good", "messages": [{"role": "user", "content": [result]}]}
    call = {"type": "tool_use", "id": "u", "name": "computer", "input": {"action": "screenshot"}}
    kept.add({"step": 2, "role": "agent", "api": "anthropic", "request": anthropic, "response": {"content": [call]}})
    kept.add({"step": 3, "role": "agent", "api": "responses", "request": {"input": []}, "response": {"output": []}})
    return find_recordings(tmp_path / "run")


def test_chats_have_messages_the_answer_and_the_reward(recordings, tmp_path):
    out = tmp_path / "deep" / "chat.jsonl"
    assert write_chat(samples(recordings), out) == 4
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    seen = next(line for line in lines if line["step"] == 1)
    assert seen["messages"][-1] == {"role": "assistant", "content": "DONE"} and seen["reward"] == 1
    assert seen["messages"][1]["content"][1]["image_url"]["url"] == data_url(IMAGE)
    assert seen["tokens"] == ["DO", "NE"] and seen["logprobs"] == [-0.5, -0.25]
    assert seen["token_ids"] == [5, 6] and seen["prompt_token_ids"] == [1, 2, 3]
    assert [line["reward"] for line in lines if line["task"] == "b#1"] == [0]


def test_only_good_episodes_are_taken_where_that_is_asked_for(recordings, tmp_path):
    assert {sample.task for sample in samples(recordings, at_least=1)} == {"a#1"}


def test_a_table_has_pictures_as_bytes(recordings, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    assert write_parquet(samples(recordings), tmp_path / "t.parquet") == 4
    rows = pq.read_table(tmp_path / "t.parquet").to_pylist()
    row = next(row for row in rows if row["step"] == 1)
    assert json.loads(row["prompt"])[1]["content"][1] == {"type": "image"}
    found = cv2.imdecode(np.frombuffer(row["images"][0]["bytes"], np.uint8), cv2.IMREAD_COLOR)
    assert (found[:, :, ::-1] == IMAGE).all()
    assert len(next(row for row in rows if row["step"] == 2)["images"]) == 1


def test_trajectories_have_steps_metrics_and_pictures(recordings, tmp_path):
    assert write_atif(recordings, tmp_path / "atif") == 2
    found = json.loads((tmp_path / "atif" / "a.json").read_text())
    assert found["schema_version"] == "ATIF-v1.7" and found["extra"]["reward"] == 1
    assert [step["step_id"] for step in found["steps"]] == list(range(1, len(found["steps"]) + 1))
    said = [step for step in found["steps"] if step["source"] == "agent"]
    assert said[1]["metrics"]["logprobs"] == [-0.5, -0.25]
    assert said[2]["tool_calls"][0] == {
        "tool_call_id": "u", "function_name": "computer", "arguments": {"action": "screenshot"},
    }  # fmt: skip
    shown = next(step for step in found["steps"] if isinstance(step["message"], list))
    path = next(part for part in shown["message"] if part["type"] == "image")["source"]["path"]
    assert (tmp_path / "atif" / path).is_file()
    assert found["final_metrics"]["total_completion_tokens"] == sum(s["metrics"]["completion_tokens"] for s in said)


def test_the_command(recordings, tmp_path, capsys):
    run = str(tmp_path / "run")
    assert main(["export", run, "--out", str(tmp_path / "x.jsonl"), "--at-least", "1"]) == 0
    assert "3 requests" in capsys.readouterr().out
    assert main(["export", run, "--format", "atf", "--out", "x"]) != 0
    assert "did you mean 'atif'" in capsys.readouterr().err
    assert main(["export", run, "--at-least", "2", "--out", str(tmp_path / "y")]) != 0
    assert "has a score of 2 or more" in capsys.readouterr().err
