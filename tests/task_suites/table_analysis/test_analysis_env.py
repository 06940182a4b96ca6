"""TableAnalysis-v0 in real sandboxes: Gymnasium's contract, turns, dialogues, users, pools and vectors."""

import json
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import deskgym  # noqa: F401 - registers the ids
from deskgym.datasets.analysis_results import read_results
from deskgym.envs.errors import ActionError, GuestLost, TaskError
from deskgym.envs.kernel_env import kernel_spaces
from deskgym.envs.machines.kernels import Kernel
from deskgym.envs.observation.spaces import observation_space
from deskgym.task_suites.table_analysis.env import TEXTS
from deskgym.wrappers import RecordEpisode

CHOICE = "*/*/action/*"


def make(task="penguins/ines/normal/mean-mass", **options):
    return gymnasium.make("deskgym/TableAnalysis-v0", task=task, disable_env_checker=True, **options)


def play(env, texts):
    for text in texts:
        observation, reward, terminated, truncated, info = env.step(text)
        if terminated or truncated:
            break
    return observation, reward, terminated, truncated, info


# --- without a machine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"screen_size": (640, 480)}, "has no screen"),
        ({"action": "computer"}, "legal is 'code'"),
        ({"observation": ["screenshot"]}, "unknown observation 'screenshot'"),
        ({"observation": ["plot", "plot"]}, "named twice"),
        ({"observation": []}, "legal is a list of one or more"),
        ({"questions": -1}, "from 0 up"),
        ({"user": "nobody"}, "nobody"),
        ({"max_steps": 0}, "from 1 up"),
        ({"machine": "fake"}, "'fake' has no kernels"),
    ],
)
def test_a_wrong_argument_is_one_clear_error(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "pengins/ines/normal/*"}, "did you mean|unknown task"),
        ({"split": "validation"}, "unknown split"),
        ({"episode": "dialog"}, "legal are 'turn' and 'dialogue'"),
    ],
)
def test_an_unknown_task_is_one_clear_error(options, message):
    with pytest.raises(TaskError, match=message):
        make(**options)


def test_dialogues_belong_to_table_analysis():
    with pytest.raises(TaskError, match="is for table_analysis"):
        gymnasium.make("deskgym/Science-v0", episode="dialogue", disable_env_checker=True)


def test_the_spec_is_json():
    env = make(user={"endpoint": "http://127.0.0.1:1/v1", "model": "m"}, pool={"depth": 1})
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert spec.kwargs["pool"] == {"depth": 1}
    assert json.loads(env.spec.to_json())["id"] == "deskgym/TableAnalysis-v0"


def test_the_space_has_the_chosen_parts():
    space = observation_space(list(kernel_spaces(TEXTS)), kernel_spaces(TEXTS))
    assert space["plot"].shape == (600, 800, 3)
    assert space.sample() in space


# --- with real sandboxes


@pytest.fixture(scope="module")
def env():
    env = make(task=None, observation=list(kernel_spaces(TEXTS)))
    yield env
    env.close()


@pytest.mark.sandbox
def test_gymnasiums_checker_has_nothing_to_say():
    env = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*not initialized with.*render_mode.*|.*spec.*nondeterministic.*")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.sandbox
def test_a_turn_from_query_to_verdict(env):
    observation, info = env.reset(seed=1, options={"task": "penguins/ines/normal/mean-mass"})
    assert observation in env.observation_space
    assert "`mean_mass` (value)" in observation["instruction"]
    assert "Table `penguins` (penguins.csv)" in observation["tables"]
    assert "holdout" not in observation["tables"]
    assert observation["library"] == ""
    assert (observation["plot"] == 255).all()
    observation, reward, terminated, truncated, info = env.step("len(penguins)")
    assert int(observation["feedback"]) > 500
    assert "len(penguins)" in observation["dialogue"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    _, reward, terminated, truncated, info = play(env, env.unwrapped.oracle())
    assert (reward, terminated, truncated) == (1.0, True, False)
    (outcome,) = info["analysis"]["turns"]
    assert outcome["intents"][0]["correct"] is True
    assert outcome["executed"][0] == "len(penguins)"
    json.dumps(info["analysis"])


@pytest.mark.sandbox
def test_the_limit_truncates_and_what_is_there_is_judged(env):
    env.reset(seed=1, options={"task": "penguins/ines/normal/mean-mass"})
    code, _ = env.unwrapped.oracle()
    *_, truncated, info = play(env, ["1", "2", "3", "4"])
    assert not truncated
    _, reward, terminated, truncated, info = env.step(code)
    assert (reward, terminated, truncated) == (1.0, False, True)
    assert info["step"] == 5


@pytest.mark.sandbox
def test_choices(env):
    seen = set()
    for seed in range(30):
        observation, info = env.reset(seed=seed, options={"task": CHOICE})
        turn = env.unwrapped.task.turns[0]
        if turn.choice is None:
            continue
        assert f"A. {turn.choice.options[0]}" in observation["instruction"]
        right = turn.choice.letter
        other = next(letter for letter in "ABCD" if letter != right)
        assert env.step(f"ANS {other}")[1:4] == (0.0, True, False)
        env.reset(seed=seed, options={"task": CHOICE})
        assert env.step(f"ANS ({right.lower()})")[1:4] == (1.0, True, False)
        seen.add(right)
    assert len(seen) > 1


@pytest.mark.sandbox
def test_a_plot_that_is_asked_about_is_seen(env):
    observation, _ = env.reset(seed=2, options={"task": "*/*/action/*", "split": "train"})
    for seed in range(100):
        if env.unwrapped.task.turns[0].action == "plot_qa":
            break
        observation, _ = env.reset(seed=seed, options={"task": "*/*/action/*"})
    assert env.unwrapped.task.turns[0].action == "plot_qa"
    assert len(np.unique(observation["plot"])) > 5


@pytest.mark.sandbox
def test_the_user_answers_one_question_and_never_with_the_query(env):
    for seed in range(4):
        env.reset(seed=seed, options={"task": "*/*/action/*.clarification"})
        turn = env.unwrapped.task.turns[0]
        fact = turn.facts[0]
        observation, *_ = env.step(f"ASK {turn.query}")
        assert fact.answer not in observation["feedback"]
        observation, _, terminated, *_ = env.step(f"ASK What do you want for the {fact.about[0]}?")
        assert "I have answered what I could" in observation["feedback"]
        assert not terminated
        env.reset(options={"task": turn.id})
        observation, *_ = env.step(f"ASK What do you want for the {fact.about[0]}?")
        assert fact.answer in observation["feedback"]
        assert fact.answer in observation["dialogue"]


@pytest.mark.sandbox
def test_actions_that_are_none(env):
    env.reset(seed=1, options={"task": "penguins/ines/normal/mean-mass"})
    for action in ("WAIT 3", 7, "x" * 70_000):
        with pytest.raises(ActionError):
            env.step(action)
    assert env.step("```python\n40 + 2\n```")[0]["feedback"] == "42"


@pytest.mark.sandbox
@pytest.mark.parametrize("mode", ["normal", "private"])
def test_a_dialogue_is_what_the_agent_did(mode):
    env = make(f"penguins/ines/{mode}", episode="dialogue")
    observation, info = env.reset(seed=0)
    turns = env.unwrapped.task.turns
    assert len(turns) >= 3
    rewards, over = [], False
    for text in env.unwrapped.oracle():
        assert not over
        observation, reward, terminated, truncated, info = env.step(text)
        rewards.append(reward)
        over = terminated or truncated
    assert terminated, info["verdict"]["checks"]
    assert sum(rewards) == pytest.approx(1.0)
    assert info["verdict"]["success"]
    assert len(info["analysis"]["turns"]) == len(turns)
    assert turns[0].query in observation["dialogue"]
    env.close()


@pytest.mark.sandbox
def test_a_dialogue_goes_on_after_a_wrong_turn_and_a_dead_kernel():
    env = make("penguins/ines/normal", episode="dialogue")
    env.reset(seed=0)
    turns = env.unwrapped.task.turns
    env.step("import os\nos._exit(1)")
    _, reward, terminated, *_ = env.step("DONE")
    assert (reward, terminated) == (0.0, False)
    total = 0.0
    for turn in turns[1:]:
        _, reward, terminated, truncated, info = env.step("ANS A" if turn.choice else "DONE")
        total += reward
    assert terminated
    assert total <= sum(turn.choice is not None for turn in turns) / len(turns)
    assert info["verdict"]["error"] is None
    env.close()


@pytest.mark.sandbox
def test_a_pool_prepares_the_next_turn_and_changes_no_task():
    seen = []
    for pool in (None, {"depth": 1}):
        env = make("penguins/*/normal/*", pool=pool)
        tasks = [env.reset(seed=5)[1]["task"]]
        for _ in range(4):
            env.step("DONE")
            env.unwrapped.pool.wait(60)
            tasks.append(env.reset()[1]["task"])
        seen.append(tasks)
        stats = env.unwrapped.stats
        env.close()
    assert seen[0] == seen[1]
    assert stats["swaps"] == 4
    assert stats["faults"] == 0


@pytest.mark.sandbox
def test_a_vector_of_two():
    envs = gymnasium.make_vec("deskgym/TableAnalysis-v0", num_envs=2, task="penguins/*/normal/*")
    observations, _ = envs.reset(seed=3)
    assert len(observations["instruction"]) == 2
    observations, rewards, terminated, truncated, _ = envs.step(("1 + 1", "DONE"))
    assert observations["feedback"][0] == "2"
    assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == ([0.0, 0.0], [False, True], [False, False])
    observations, rewards, terminated, *_ = envs.step(("1 + 2", "ignored: this one resets"))
    assert tuple(observations["feedback"]) == ("3", "")
    assert not terminated.any()
    envs.close()


@pytest.mark.sandbox
def test_a_dialogue_that_is_concluded_early_has_a_verdict_of_what_there_was():
    env = make("penguins/ines/normal", episode="dialogue")
    env.reset(seed=0)
    turns = env.unwrapped.task.turns
    _, reward, terminated, *_ = play(env, [turns[0].code, "DONE"])
    assert (reward, terminated) == (pytest.approx(1 / len(turns)), False)
    reward, truncated, info = env.unwrapped.conclude()
    assert (reward, truncated) == (0.0, True)
    assert info["verdict"]["score"] == pytest.approx(1 / len(turns))
    assert len(info["analysis"]["turns"]) == 2
    env.close()


def lost(kernel, code, **options):
    raise GuestLost("the guest is gone")


@pytest.mark.sandbox
def test_what_the_agent_breaks_counts_0_in_the_results(tmp_path, monkeypatch):
    env = RecordEpisode(make("penguins/ines/normal", episode="dialogue"), tmp_path)
    for broken_by in ("agent", "infrastructure"):
        env.reset(seed=0)
        turns = env.unwrapped.task.turns
        if broken_by == "agent":
            assert play(env, [turns[0].code, "DONE"])[1] == pytest.approx(1 / len(turns))
        with monkeypatch.context() as patch:
            patch.setattr(Kernel, "run", lost)
            patch.setattr(type(env.unwrapped.machine), "host_lost", broken_by == "infrastructure")
            *_, truncated, info = env.step("import os; os.kill(1, 9)")
        assert truncated and info["fault"]["cause"] == broken_by and ("analysis" in info) == (broken_by == "agent")
    env.close()
    results = read_results(tmp_path)
    assert (results.episodes, results.turns, results.left_out) == (1, len(turns), {"with a broken machine": 1})
    overall = results.modes[-1].scores
    asked = [len(turn.intents) for turn in turns]
    assert (overall.intents, overall.correct) == (sum(asked), asked[0])
    assert overall.acc == overall.acc_se == overall.acc_ser == asked[0] / sum(asked)


@pytest.mark.sandbox
def test_a_folder_of_dialogues_is_a_suite(tmp_path):
    from deskgym.task_suites.table_analysis.suite import FOLDER

    (tmp_path / "mine.yaml").write_text(
        (FOLDER / "tickets-pavel.yaml").read_text().replace("tickets/pavel", "tickets/me")
    )
    env = make("tickets/me/normal/topic-growth", suite=str(tmp_path))
    env.reset(seed=0)
    assert play(env, env.unwrapped.oracle())[1] == 1.0
    env.close()


@pytest.mark.sandbox
def test_a_machine_that_dies_truncates_and_the_next_reset_mends_it(env):
    env.reset(seed=1, options={"task": "penguins/ines/normal/mean-mass"})
    env.unwrapped.machine.stop()
    observation, reward, terminated, truncated, info = env.step("1")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["fault"]["kind"]
    env.reset(seed=1, options={"task": "penguins/ines/normal/mean-mass"})
    assert play(env, env.unwrapped.oracle())[1] == 1.0


def test_a_task_about_a_picture_shows_it_or_says_that_it_does_not():
    task = "penguins/ines/action/second-heaviest-class.plot_qa"
    env = make(task=task)
    observation, _ = env.reset(seed=3)
    assert "plot" in observation and (observation["plot"] != 255).any()
    assert "left out here" not in observation["instruction"]
    env.close()
    env = make(task="penguins/ines/action/*", observation=["instruction", "dialogue"])
    observation, _ = env.reset(options={"task": f"{task}#3"})
    assert "the observation `plot`, which is left out here" in observation["instruction"]
    assert "plt" in observation["dialogue"] and observation in env.observation_space
    env.close()


@pytest.mark.parametrize("code", ["pass", "x = = 1"])
def test_what_the_history_has_saved_is_no_result(code: str):
    """The wrong code of an update_code turn has set the very variables that are asked for."""
    env = make(task="*/*/action/*.update_code", observation=["feedback"])
    for seed in range(3):
        env.reset(seed=seed)
        turn = env.unwrapped.task.turns[0]
        assert all(intent.name in turn.history[-1].code for intent in turn.intents)
        *_, reward, _, _, info = play(env, [code, "DONE"])
        assert reward == 0 and all(check["outcome"] == "fail" for check in info["verdict"]["checks"])
    env.close()
