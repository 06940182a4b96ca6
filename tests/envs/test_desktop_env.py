"""DesktopEnv on the fake machine: Gymnasium's contract, errors, faults and the episode's end."""

import json
import pickle
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.performance import benchmark_step

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs import machines
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError, GuestLost, MachineError, TaskError
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.envs.machines.fake.display import FakeDisplay
from deskgym.envs.needs import Needs
from deskgym.envs.observation.spaces import OBSERVATIONS


class PressTask:
    """Solved by answering with the number that it asks for."""

    verbose = ()
    max_steps = 5
    difficulty = "easy"
    tags = ()
    source = "test"
    split = None
    feasible = True
    vocabulary = ()
    keys = ()

    def __init__(self, number):
        self.number, self.seed, self.params = number, number, {"number": number}
        self.id = f"fake/press#{number}"
        self.instruction = f"Answer {number}."

    @property
    def wrong_attempts(self):
        return {"other number": lambda screen: iter([[Action("answer", text=str(self.number + 1))]])}

    def prepare(self, machine):
        machine.put("/home/user/number.txt", str(self.number).encode())

    def evaluate(self, final):
        right = final.stop == "answer" and final.answer == str(self.number)
        return Verdict.from_checks([CheckResult("answer", "pass" if right else "fail", repr(final.answer))])

    def oracle(self, screen):
        yield [Action("click", x=5, y=5), Action("type", text="x")]
        yield [Action("answer", text=str(self.number))]


class PressSource:
    """An endless supply of PressTasks."""

    def ids(self, split=None):
        return ["fake/press"]

    def get(self, task_id, seed=None):
        return PressTask(seed or 0)

    def draw(self, rng, pattern=None, split=None):
        if pattern not in (None, "fake/press", "*"):
            raise TaskError(f"no task {pattern!r}")
        return PressTask(int(rng.integers(1000)))


def make(**options):
    """A DesktopEnv on the fake machine."""
    return DesktopEnv(PressSource(), **({"machine": "fake", "screen_size": (160, 120)} | options))


gym.register("test/Fake-v0", entry_point=make, nondeterministic=True)


@pytest.mark.parametrize("action", ["computer", "code"])
@pytest.mark.parametrize("observation", [*((part,) for part in OBSERVATIONS), OBSERVATIONS], ids="+".join)
def test_check_env_has_nothing_to_say(observation, action):
    env = gym.make("test/Fake-v0", observation=observation, action=action).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    env.close()


def test_the_context_is_the_tasks_documents(monkeypatch):
    env = make(observation=("context", "instruction"))
    assert env.reset(seed=1)[0]["context"] == ""  # a task without documents
    monkeypatch.setattr(PressTask, "context", "Answers are numbers.", raising=False)
    observation, _ = env.reset(seed=1)
    assert observation["context"] == "Answers are numbers." and observation in env.observation_space
    assert env.step(Action("wait", seconds=0))[0]["context"] == "Answers are numbers."
    monkeypatch.setattr(PressTask, "context", "x" * 200_000)
    assert "characters left out" in env.reset(seed=1)[0]["context"]
    env.close()


def test_benchmark_step_runs():
    env = make()
    assert benchmark_step(env, target_duration=1, seed=0) > 1
    env.close()


@pytest.mark.parametrize("form", ["computer", "code"])
def test_the_oracle_earns_one(form):
    env = make(action=form)
    env.reset(seed=3)
    reward = terminated = None
    for action in env.oracle():
        _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["verdict"]["success"] and info["verdict"]["checks"][0]["outcome"] == "pass"
    assert info["timing"]["act"] >= 0
    env.close()


def test_equal_seeds_draw_equal_tasks():
    env = make()
    first = env.reset(seed=11)[1]["task"]
    assert env.reset(seed=11)[1]["task"] == first
    assert len({env.reset()[1]["task"] for _ in range(10)}) > 3
    env.close()


def test_the_step_limit_truncates_and_is_evaluated():
    env = make(max_steps=2)
    env.reset(seed=1)
    assert env.step(Action("wait", seconds=0))[3] is False
    _, reward, terminated, truncated, info = env.step(Action("wait", seconds=0))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["verdict"]["score"] == 0
    with pytest.raises(gym.error.ResetNeeded):
        env.step(Action("done"))
    env.close()


def test_stepping_before_reset_is_refused():
    env = make()
    with pytest.raises(gym.error.ResetNeeded):
        env.step(Action("done"))
    with pytest.raises(gym.error.ResetNeeded):
        env.oracle()


@pytest.mark.parametrize(
    "action",
    [5, None, "click", {"action": "click", "x": 160, "y": 0}, {"action": "fly"}, {"action": 3}, [1, 2]],
)
def test_an_illegal_action_raises_and_the_episode_goes_on(action):
    env = make()
    env.reset(seed=1)
    with pytest.raises(ActionError):
        env.step(action)
    assert env.step({"action": "click", "x": 1, "y": 1})[4]["step"] == 1
    env.close()


def test_what_is_not_there_is_said_with_what_is():
    env = make()
    with pytest.raises(gym.error.ResetNeeded, match="there is no running episode: call reset"):
        env.step(env.action_space.sample())
    env.reset(seed=0)
    with pytest.raises(KeyError, match="no wrong attempt 'nope'; this task has '"):
        env.unwrapped.attempt("nope")
    env.close()


def test_a_machine_whose_library_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(machines.NEEDED, "qemu", ("no_such.library", "vm"))
    with pytest.raises(ValueError, match=r"machine='qemu' needs no_such.library: \S+ -m pip install 'deskgym\[vm\]'"):
        make(machine="qemu")


def test_an_illegal_action_can_be_feedback_instead():
    env = make(invalid_action="feedback", observation=("feedback",))
    env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step({"action": "fly"})
    assert "unknown action 'fly'" in observation["feedback"] == info["invalid_action"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    env.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machine": "mainframe"}, "unknown machine 'mainframe'; legal are sandbox"),
        ({"action": "telepathy"}, "legal are computer, code"),
        ({"render_mode": "ascii"}, "render_mode='ascii'"),
        ({"observation": ["smell"]}, "unknown observation 'smell'"),
        ({"screen_size": (0, 10)}, "screen_size"),
        ({"screen_size": "big"}, "screen_size"),
        ({"max_steps": 0}, "max_steps: legal is a whole number from 1 up, got 0"),
        ({"max_steps": "5"}, r"max_steps: legal is a whole number from 1 up, got '5' \(a text\)"),
        ({"max_elements": 0}, "max_elements: legal is a whole number from 1 up, got 0"),
        ({"max_elements": -5}, "max_elements: .*, got -5"),
        ({"code_timeout": -1}, "code_timeout: legal is a number from 0.001 up, got -1"),
        (
            {"settle": {"quiet": 1}},
            "settle: unknown option 'quiet'; legal are busy_ms, cap_ms.*did you mean 'quiet_ms'",
        ),
        ({"settle": {"quiet_ms": "fast"}}, "settle.quiet_ms: legal is a number from 0 up, got 'fast'"),
        ({"settle": {"quiet_ms": -5}}, "settle.quiet_ms: legal is a number from 0 up, got -5"),
        ({"settle": 3}, "settle=3; legal is None or a mapping with any of busy_ms"),
        ({"pool": 1}, "pool=1; legal is None or a mapping with any of depth"),
        ({"machine_options": 1}, "machine_options: legal is a mapping, got 1"),
        ({"machine_options": {"memory": 1}}, "unknown option 'memory'; legal are clock, .*did you mean 'memory_mb'"),
        (
            {"machine_options": {"memory_mb": "2G"}},
            "machine_options.memory_mb: legal is a whole number from 64 to .*'2G'",
        ),
        ({"machine_options": {"memory_mb": 8}}, "machine_options.memory_mb: .*, got 8"),
        ({"machine": "sandbox", "machine_options": {"hide": ["relative"]}}, "hide='relative'; legal are absolute"),
        ({"machine": "sandbox", "machine_options": {"hide": "/opt/x"}}, "hide: legal is a list of .*, got '/opt/x'"),
        ({"invalid_action": "ignore"}, "invalid_action"),
        ({"task": "fake/pres"}, "no task 'fake/pres'"),
    ],
)
def test_wrong_arguments_say_what_is_legal(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_a_virtual_machine_without_its_library_is_said_when_the_env_is_made(monkeypatch):
    monkeypatch.setitem(sys.modules, "qemu.qmp", None)
    with pytest.raises(ValueError, match=r"machine='qemu' needs qemu.qmp: \S+ -m pip install 'deskgym\[vm\]'"):
        make(machine="qemu")


def test_unknown_reset_options():
    env = make()
    with pytest.raises(ValueError, match="unknown reset options"):
        env.reset(options={"tsak": "x"})


class Fragile:
    """Makes the fake machine's display break on demand."""

    def __init__(self, env, monkeypatch):
        self.broken = 0
        display_class = type(env.machine.display)
        carry_out = display_class.carry_out

        def breaking(display, *args, **kwargs):
            if self.broken:
                self.broken -= 1
                raise GuestLost("it died")
            return carry_out(display, *args, **kwargs)

        monkeypatch.setattr(display_class, "carry_out", breaking)


def test_a_broken_machine_truncates_with_a_fault_and_the_next_reset_repairs(monkeypatch):
    env = make(observation=("screenshot", "elements", "instruction"))
    env.reset(seed=1)
    fragile = Fragile(env, monkeypatch)
    fragile.broken = 1
    observation, reward, terminated, truncated, info = env.step(Action("wait", seconds=0))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["fault"] == {"kind": "guest_lost", "message": "it died", "cause": "infrastructure"}
    assert observation in env.observation_space
    assert not env.machine.alive
    observation, info = env.reset()
    assert "fault" not in info and env.stats["fault_guest_lost"] == env.stats["faults_by_infrastructure"] == 1
    assert env.step(Action("wait", seconds=0))[4]["step"] == 1
    env.close()


def test_what_breaks_in_the_machine_after_the_agents_first_action_is_its_doing(monkeypatch):
    env = make()
    env.reset(seed=1)
    fragile = Fragile(env, monkeypatch)
    env.step(Action("click", x=5, y=5))
    fragile.broken = 1
    assert env.step(Action("wait", seconds=0))[4]["fault"]["cause"] == "agent"
    env.reset()
    env.step(Action("click", x=5, y=5))
    monkeypatch.setattr(type(env.machine), "host_lost", True)
    fragile.broken = 1
    assert env.step(Action("wait", seconds=0))[4]["fault"]["cause"] == "infrastructure"
    assert env.stats["faults_by_agent"] == env.stats["faults_by_infrastructure"] == 1
    env.close()


def test_a_reset_that_keeps_failing_raises_after_three_tries(monkeypatch):
    env = make()
    env.reset(seed=1)
    fragile = Fragile(env, monkeypatch)
    fragile.broken = 2
    env.reset(seed=1)
    fragile.broken = 3
    with pytest.raises(MachineError, match="it died"):
        env.reset(seed=1)
    assert env.stats["faults"] == 5
    env.close()


def test_building_starts_nothing_and_close_can_be_repeated():
    env = make()
    assert not env.machine.alive
    env.close()
    env.close()
    env.reset(seed=1)
    env.close()
    env.close()
    assert not env.machine.alive


def test_rendering():
    assert make().render() is None
    env = make(render_mode="rgb_array")
    env.reset(seed=1)
    frame = env.render()
    assert frame.shape == (120, 160, 3) and frame.dtype == np.uint8
    env.close()


def test_the_registered_ids_round_trip_as_json_and_pickle():
    env = gym.make(
        "deskgym/Science-v0",
        task="kalgebra/*",
        observation=("screenshot", "elements"),
        machine="fake",
        max_steps=3,
    )
    text = env.spec.to_json()
    again = gym.make(gym.envs.registration.EnvSpec.from_json(text))
    assert json.loads(again.spec.to_json()) == json.loads(text)
    assert again.observation_space == env.observation_space
    copy = pickle.loads(pickle.dumps(env.unwrapped))
    assert copy.observation_space == env.observation_space and copy.episodes.task_pattern == "kalgebra/*"


def test_all_four_ids_are_registered():
    names = {"DataEngineering", "Science", "BPM", "TableAnalysis"}
    assert {f"deskgym/{name}-v0" for name in names} <= set(gym.registry)


@pytest.mark.parametrize(
    ("env_id", "options", "message"),
    [
        ("deskgym/Science-v0", {"task": "kalgebra/plot-2dd"}, "plot-2d"),
        ("deskgym/Science-v0", {"split": "validation"}, "train"),
        ("deskgym/Science-v0", {"source": "osworld"}, "unknown source 'osworld'"),
        ("deskgym/Science-v0", {"source": "scienceboard"}, "needs source_path"),
        ("deskgym/Science-v0", {"source_path": "x"}, "needs source"),
        ("deskgym/Science-v0", {"mode": "strict"}, "legal are 'corrected' and 'paper'"),
        ("deskgym/Science-v0", {"mode": "paper"}, "mode='paper' is for a published benchmark's tasks; give source"),
        ("deskgym/Proving-v0", {"mode": "paper"}, "mode='paper' is for a published benchmark's tasks; give source"),
        ("deskgym/Science-v0", {"source": "scienceboard", "source_path": "/nowhere"}, "/nowhere"),
    ],
)
def test_unknown_suites_sources_and_tasks(env_id, options, message):
    with pytest.raises(TaskError, match=message):
        gym.make(env_id, machine="fake", **options)


@pytest.mark.parametrize(
    ("env_id", "name", "message"),
    [
        ("Science", "tsk", "legal are .*screen_size.*did you mean 'task'.*also source, .*mode, instruction, interface"),
        ("Science", "sorce", "of the tasks also source, .*; did you mean 'source'"),
        ("Procedures", "tsk", "of the tasks also source, source_path, mode, shown"),
    ],
)  # fmt: skip
def test_an_unknown_argument_lists_those_of_the_tasks_too(env_id, name, message):
    with pytest.raises(TypeError, match=message):
        gym.make(f"deskgym/{env_id}-v0", **{name: "x"})


def test_make_vec():
    env = gym.make_vec("deskgym/Science-v0", num_envs=2, machine="fake", screen_size=(64, 64), task="kalgebra/tab")
    assert env.num_envs == 2
    assert env.single_observation_space["screenshot"].shape == (64, 64, 3)
    env.close()


def test_vectors_of_fake_envs():
    options = {
        "machine": "fake",
        "screen_size": (64, 64),
        "observation": ("screenshot", "instruction", "feedback"),
    }
    env = gym.vector.AsyncVectorEnv([lambda: make(**options)] * 2)
    observations, infos = env.reset(seed=5)
    assert observations["screenshot"].shape == (2, 64, 64, 3)
    assert all(text.startswith("Answer ") for text in observations["instruction"])
    for _ in range(3):
        env.step(env.action_space.sample())
    env.close()


class Demanding(PressTask):
    """Its program has many elements, and never rests."""

    needs = Needs(elements=2000, motion=1.0)


def test_a_task_s_needs_shape_reading_and_settling(monkeypatch):
    asked = []
    carry_out = FakeDisplay.carry_out

    def record(self, request):
        if request.settle is not None:
            asked.append((request.settle.motion, request.settle.first_ms, request.elements.limit))
        return carry_out(self, request)

    monkeypatch.setattr(FakeDisplay, "carry_out", record)
    for task, *wanted in ((PressTask(3), 0.01, 20, 100), (Demanding(3), 1.0, 300, 2000)):
        source = PressSource()
        source.draw = lambda *_, task=task: task
        env = DesktopEnv(source, machine="fake", observation=["elements"], max_elements=100)
        observation, info = env.reset(seed=0)
        asked.clear()
        observation, _, _, _, info = env.step(Action("wait", seconds=0.0))
        assert asked == [tuple(wanted)]
        assert observation["elements"].shape[0] == 100 and info["loading"] is False
        env.close()
