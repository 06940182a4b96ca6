"""Conversations about tables for trainers, in real sandboxes: TRL, OpenEnv, and the Python of docs/trainers.md."""

import inspect
import json
import pickle
import re
from pathlib import Path

import gymnasium as gym
import pytest
from PIL import Image
from press_suite import descendants, gone

from deskgym.envs.errors import ActionError, TaskError
from deskgym.trainers.openenv import DesktopAction, DesktopEnvironment, decode_png
from deskgym.trainers.session import Session, is_conversation
from deskgym.trainers.trl import desktop_environment
from deskgym.trainers.trl_tables import TableToolEnv, table_environment, table_rows

TABLES = "deskgym/TableAnalysis-v0"
MASS = "penguins/ines/normal/mean-mass#7"
PAGE = Path(__file__).parents[2] / "docs" / "trainers.md"


def oracle(environment):
    """The task's solution as calls of tools."""
    for text in environment._session.desktop.oracle():
        word, _, rest = text.partition(" ")
        if text == "DONE":
            yield environment.done, ()
        elif word in ("ASK", "ANS"):
            yield (environment.ask if word == "ASK" else environment.answer), (rest,)
        else:
            yield environment.run_code, (text,)


# --- without a machine


def test_the_public_methods_are_tools_with_schemas_and_nothing_else():
    from transformers.utils import get_json_schema

    names = (name for name, _ in inspect.getmembers(TableToolEnv, predicate=inspect.isfunction))
    tools = {name for name in names if name[0] != "_" and name not in ("reset", "get_reward")}
    assert tools == {"run_code", "ask", "answer", "done"}
    environment = TableToolEnv()
    for name in tools:
        schema = get_json_schema(getattr(environment, name))["function"]
        assert schema["name"] == name and len(schema["description"]) > 20
        json.dumps(schema)


def test_rows_name_an_instance_and_factories_can_be_pickled():
    (row,) = table_rows("*/*/normal/*", seeds=[3], split="train")
    assert (row["task"], row["split"], row["seed"]) == ("*/*/normal/*", "train", 3)
    assert "variables" in row["prompt"][0]["content"]
    made = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(table_environment(task=MASS)))()))
    assert made._session.desktop.episodes.task_pattern == MASS
    with pytest.raises(ValueError, match="needs a 'seed'"):
        TableToolEnv().reset(task="*/*/normal/*")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"task": "penguin/*"}, TaskError, "unknown task"),
        ({"text_limit": 0}, ValueError, "from 1 up"),
        ({"action": "computer"}, ValueError, "decides it"),
        ({"questions": -1}, ValueError, "from 0 up"),
    ],
)
def test_bad_options_are_refused_at_once(options, error, message):
    with pytest.raises(error, match=message):
        table_environment(**options)


def test_the_kinds_of_environments_are_not_mixed_up():
    with pytest.raises(TypeError, match="table_environment"):
        desktop_environment(TABLES)
    desktop = gym.make("test/Press-v0", action="code", observation=("instruction",)).spec
    with pytest.raises(TypeError, match="plays a TableAnalysisEnv"):
        table_environment(desktop)
    with pytest.raises(TypeError, match="CartPoleEnv; legal are DesktopEnv and TableAnalysisEnv"):
        Session("CartPole-v1")
    assert is_conversation(TABLES) and not is_conversation("deskgym/Science-v0") and not is_conversation("no/Such-v0")


# --- in real sandboxes


@pytest.fixture
def environment():
    before = descendants()
    made = []

    def make(**options):
        made.append(table_environment(**options)())
        return made[-1]

    yield make
    for one in made:
        one._session.close()
    assert gone(before)


@pytest.mark.sandbox
def test_a_turn_by_tools(environment):
    env = environment()
    start = env.reset(task=MASS)
    assert "Table `penguins`" in start and "The user asks: " in start and "`mean_mass` (value)" in start
    assert "library" not in start
    assert int(env.run_code("len(penguins)")) > 500
    assert env.run_code("x = 1") == "(no output)"
    assert "NameError" in env.run_code("nothing_of_that_name")
    for tool, arguments in oracle(env):
        seen = tool(*arguments)
    assert seen == "The episode is over."
    machine = env._session.desktop.machine
    assert env.get_reward() == env.get_reward() == 1.0 and not machine.alive
    with pytest.raises(ActionError, match="over"):
        env.run_code("1")


@pytest.mark.sandbox
def test_questions_and_letters_by_tools(environment):
    env = environment()
    env.reset(seed=1, task="penguins/ines/action/mean-mass.clarification")
    with pytest.raises(ActionError, match="question=' '; legal is a text"):
        env.ask(" ")
    (ask, question), *rest = oracle(env)
    assert ask == env.ask and ask(*question).startswith("User: ")
    for tool, arguments in rest:
        tool(*arguments)
    assert env.get_reward() == 1.0
    env.reset(seed=1, task="*/*/action/*.insight_mining")
    right = env._session.desktop.task.turns[0].choice.letter
    assert env.answer(f" {right}") == "The episode is over." and env.get_reward() == 1.0


@pytest.mark.sandbox
def test_a_turn_that_is_left_is_judged_as_it_stands(environment):
    env = environment(task="penguins/ines/normal/mean-mass")
    env.reset(seed=1)
    code, _ = env._session.desktop.oracle()
    env.run_code(code)
    assert env.get_reward() == 1.0
    env.reset(seed=1)
    assert env.get_reward() == 0.0


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_dialogue_by_tools_goes_from_turn_to_turn(environment):
    env = environment(episode="dialogue", task="penguins/ines/private")
    start = env.reset(seed=0)
    turns = env._session.desktop.task.turns
    assert "The library to use:\nThe module " in start and turns[0].query in start
    seen = [tool(*arguments) for tool, arguments in oracle(env)]
    for turn in turns[1:]:
        assert any(text.startswith("That turn is over.") and turn.query in text for text in seen)
    assert env.get_reward() == pytest.approx(1.0)
    env.reset(seed=0)
    assert env.get_reward() == 0.0  # every turn is concluded
    assert len(env._session.info["analysis"]["turns"]) == len(turns)


@pytest.mark.sandbox
def test_the_figure_comes_as_an_image_where_there_is_one(environment):
    env = environment(image=True)
    (text,) = env.reset(task=MASS)
    assert "penguins" in text["text"]
    text, image = env.run_code("figure, axes = plt.subplots()\naxes.plot([1, 3, 2])")
    assert isinstance(image["image"], Image.Image) and image["image"].size == (800, 600)
    assert len(env.reset(seed=0, task="*/*/action/*.plot_qa")) == 2


@pytest.mark.sandbox
def test_a_machine_that_breaks_gives_no_reward(environment):
    env = environment(task=MASS)
    env.reset()
    env._session.desktop.machine.stop()
    with pytest.raises(Exception, match="the machine broke, and the episode is over"):
        env.run_code("1")
    assert env.get_reward() is None


@pytest.mark.sandbox
def test_openenv_serves_turns():
    env = DesktopEnvironment(TABLES, observation=("instruction", "dialogue", "tables", "library", "feedback", "plot"))
    first = env.reset(task=MASS)
    assert "`mean_mass`" in first.instruction and "Table `penguins`" in first.tables and first.dialogue
    assert (first.library, first.screenshot, first.more) == ("", None, {})
    assert decode_png(first.plot).shape == (600, 800, 3)
    second = env.step(DesktopAction(action="print(6 * 7)"))
    assert (second.feedback, second.reward, second.done) == ("42", 0.0, False)
    for text in env.session.desktop.oracle():
        last = env.step(DesktopAction(action=text))
    assert (last.reward, last.done, last.verdict["success"]) == (1.0, True, True)
    assert "mean_mass" in json.loads(last.model_dump_json())["dialogue"]
    env.close()


@pytest.mark.sandbox
def test_the_pages_python_runs(capsys):
    blocks = re.findall(r"^```python\n(.*?)\n```$", PAGE.read_text().partition("\n## Table analysis")[2], re.S | re.M)
    played = [block for block in blocks if "GRPOTrainer(" not in block]
    assert len(played) == 2
    for block in played:
        exec(compile(block, str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    assert "\n1.0\n" in printed and "\n1.0 {" in printed
