"""code-server in a real sandbox: its first screen, and a file that is opened, changed and saved."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids

TASK = """
id: code/hello
suite: data_engineering
title: Say hello
instruction: Write hello into a.txt, and save it.
difficulty: easy
splits: {train: 1}
setup:
  - write: {path: "/home/user/a & b/a.txt", text: "x"}
  - code_server.open: "/home/user/a & b"
checks:
  - file.text: {path: "/home/user/a & b/a.txt", that: {text: hello}}
oracle:
  - code_server.load: a.txt
  - code_server.write: hello
  - done:
wrong:
  not saved:
    - code_server.load: a.txt
    - type: hello
    - done:
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "code"
    folder.mkdir()
    (folder / "hello.yaml").write_text(TASK)
    env = gym.make("deskgym/DataEngineering-v0", suite=str(folder.parent), screen_size=(1280, 720))
    yield env
    env.close()


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_first_screen_is_clean_and_an_oracle_earns_in_a_folder_whose_name_must_be_quoted(env):
    env.reset(seed=1, options={"task": "code/hello"})
    screen = env.unwrapped.screen
    assert screen.find(role="tree item", name="a.txt*", timeout=60.0)
    assert not screen.find_all(role="dialog") and not screen.find_all(role="alert", name="?*")
    for name in ("Welcome*", "*Copilot*", "*telemetry*", "*Do you trust*"):
        assert not screen.find_all(name=name), name
    rewards = [env.step(action)[1] for action in env.unwrapped.oracle()]
    assert rewards[-1] == 1
