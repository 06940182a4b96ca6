"""DesktopVectorEnv: Gymnasium's contract, send and recv, shared frames."""

import copy
import os
import subprocess
import sys
import threading
import time
import warnings
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from vector_fakes import DONE, WAIT, desktop, tricky

from deskgym.envs.errors import ActionError, TaskError
from deskgym.envs.vector.memory import blank
from deskgym.envs.vector_env import DesktopVectorEnv
from deskgym.wrappers import FlatForSB3, HistoryWindow, JointDiscrete, RecordEpisode
from deskgym.wrappers.recording.recording import Recording

MODES = list(AutoresetMode)
TIMES = ("timing", "prepared", "action_mask")
FORMS = {
    "computer": {"observation": ("screenshot", "elements", "instruction")},
    "code": {"action": "code", "observation": ("screenshot", "feedback", "instruction")},
    "discrete": {"action": "discrete", "observation": ("elements",)},
}


@pytest.fixture
def vector():
    """Makes vectors, and closes them."""
    made = []

    def make(make_env, num_envs=3, **options):
        made.append(DesktopVectorEnv(make_env, num_envs, **options))
        return made[-1]

    yield make
    for env in made:
        env.close()


def equal(one, other):
    """Whether two nested structures of arrays are the same, times aside."""
    if isinstance(one, dict) and isinstance(other, dict):
        one, other = ({k: v for k, v in d.items() if k.removeprefix("_") not in TIMES} for d in (one, other))
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and one.dtype != object:
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, list | tuple | np.ndarray):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and one == other


def play(env, steps=14):
    """Everything that an env says in some steps with the actions of a seed."""
    env.action_space.seed(5)
    told = [copy.deepcopy(env.reset(seed=3))]
    over = np.zeros(env.num_envs, np.bool_)
    for _ in range(steps):
        if env.metadata["autoreset_mode"] == AutoresetMode.DISABLED and over.any():
            told.append(copy.deepcopy(env.reset(options={"reset_mask": over})))
        told.append(copy.deepcopy(env.step(env.action_space.sample())))
        over = told[-1][2] | told[-1][3]
    env.close()
    return told


@pytest.mark.parametrize("copies", [True, False], ids=["copies", "shared"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_it_says_what_gymnasiums_own_vector_says(vector, mode, form, copies):
    make_env = partial(desktop, max_steps=4, **FORMS[form])
    ours = play(vector(make_env, autoreset_mode=mode, copy=copies))
    theirs = play(SyncVectorEnv([make_env] * 3, autoreset_mode=mode))
    for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert equal(one, other), (k, one[1:], other[1:])
    assert sum(bool((told[2] | told[3]).any()) for told in ours if len(told) == 5) >= 3


@pytest.mark.parametrize("wrapper", [None, FlatForSB3, JointDiscrete], ids=["plain", "flat", "joint"])
def test_masks_of_discrete_actions_are_in_infos(vector, wrapper):
    def make_env():
        env = desktop(action="discrete", observation=("elements",))
        return wrapper(env) if wrapper else env

    env = vector(make_env, 2, autoreset_mode="SameStep")
    alone = make_env()
    alone.reset(seed=7)
    _, infos = env.reset(seed=7)
    assert (infos["action_mask"][0] == alone.action_masks()).all() and infos["_action_mask"].all()
    infos = env.step(env.action_space.sample())[4]
    assert infos["action_mask"].shape[0] == 2 and infos["action_mask"].any(1).all()


def test_forms_without_masks_have_none(vector):
    assert "action_mask" not in vector(desktop, 1).reset()[1]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_verdicts_and_episode_statistics(vector, mode):
    env = gym.wrappers.vector.RecordEpisodeStatistics(vector(desktop, 2, autoreset_mode=mode))
    infos = env.reset(seed=1)[1]
    right = [{"action": "answer", "text": task.partition("#")[2]} for task in infos["task"]]
    _, rewards, terminated, _, infos = env.step((right[0], WAIT))
    assert rewards.tolist() == [1.0, 0.0] and terminated.tolist() == [True, False]
    final = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
    assert final["verdict"]["success"][0] and final["_verdict"].tolist() == [True, False]
    assert infos["episode"]["r"][0] == 1.0 and infos["episode"]["l"][0] == 1


# --- send and recv


def test_the_slow_one_holds_nobody_up(vector, tmp_path):
    env = vector(tricky, 3)
    env.reset(seed=1)
    gate = tmp_path / "gate"
    env.send([WAIT, {"trick": "wait", "path": str(gate)}, WAIT])
    for step in range(1, 4):
        _, _, _, _, infos = env.recv(batch_size=2)
        assert infos["env_id"].tolist() == [0, 2] and infos["step"].tolist() == [step, step]
        env.send([WAIT, WAIT], infos["env_id"])
    gate.touch()
    observations, rewards, _, _, infos = env.recv()
    assert infos["env_id"].tolist() == [0, 1, 2] and infos["step"].tolist() == [4, 1, 4]
    assert len(observations["instruction"]) == len(rewards) == 3


def test_the_first_to_be_ready_is_the_first_to_come_back(vector, tmp_path):
    env = vector(tricky, 3)
    env.reset(seed=1)
    gates = [tmp_path / str(k) for k in range(3)]
    env.send([{"trick": "wait", "path": str(gate)} for gate in gates])
    for k in (2, 0, 1):
        gates[k].touch()
        assert env.recv(1)[4]["env_id"].tolist() == [k]


def test_who_has_waited_longest_is_not_forgotten(vector, tmp_path):
    env = vector(tricky, 4)
    env.reset(seed=1)

    def until_three_are_ready():
        with pytest.raises(TimeoutError, match="3 of 4"):
            env.recv(4, timeout=2.0)

    env.send([WAIT, WAIT, WAIT, {"trick": "wait", "path": str(tmp_path / "gate")}])
    until_three_are_ready()
    first = env.recv(2)[4]["env_id"].tolist()
    env.send([WAIT] * 2, first)
    until_three_are_ready()
    assert set(first) | set(env.recv(2)[4]["env_id"].tolist()) == {0, 1, 2}
    (tmp_path / "gate").touch()
    assert env.recv()[4]["env_id"].tolist()[-1] == 3


def test_rows_belong_to_their_environments(vector):
    env = vector(desktop, 3, autoreset_mode="SameStep")
    whole, infos = env.reset(seed=1)
    env.send([DONE, WAIT], [2, 0])
    observations, _, terminated, _, part = env.recv(2)
    assert part["env_id"].tolist() == [0, 2] and terminated.tolist() == [False, True]
    assert part["task"].tolist()[0] == infos["task"][0] != infos["task"][2] != part["task"][1]
    assert observations["instruction"] == tuple(f"Answer {task.partition('#')[2]}." for task in part["task"])
    assert part["final_obs"][1]["instruction"] == whole["instruction"][2]


def test_a_timeout_loses_nothing(vector, tmp_path):
    env = vector(tricky, 2)
    env.reset(seed=1)
    gate = tmp_path / "gate"
    env.send([WAIT, {"trick": "wait", "path": str(gate)}])
    with pytest.raises(TimeoutError, match="1 of 2 environments were ready within 0.3 s"):
        env.recv(timeout=0.3)
    gate.touch()
    infos = env.recv()[4]
    assert infos["env_id"].tolist() == [0, 1] and infos["step"].tolist() == [1, 1]


def test_no_time_at_all_is_enough_for_what_is_there(vector):
    env = vector(desktop, 1)
    env.reset(seed=1)
    env.send([WAIT])
    end = time.monotonic() + 10
    while True:
        try:
            assert env.recv(timeout=0)[4]["step"].tolist() == [1]
            break
        except TimeoutError:
            assert time.monotonic() < end


def test_an_illegal_action_loses_nothing_of_the_others(vector):
    env = vector(desktop, 3)
    env.reset(seed=1)
    env.send([WAIT, {"action": "fly"}, WAIT])
    with pytest.raises(ActionError, match="fly"):
        env.recv()
    infos = env.recv()[4]
    assert infos["env_id"].tolist() == [0, 2] and infos["step"].tolist() == [1, 1]
    with pytest.raises(ActionError, match="fly"):
        env.step([WAIT, WAIT, {"action": "fly"}])
    assert env.recv()[4]["step"].tolist() == [2, 1]
    assert env.step([WAIT] * 3)[4]["step"].tolist() == [3, 2, 2]


def test_resets_at_their_own_pace(vector, tmp_path):
    env = vector(tricky, 2, autoreset_mode="Disabled")
    gate = tmp_path / "gate"
    env.reset(seed=1)
    env.send([DONE], [0])
    env.async_reset(options={"reset_mask": np.array([False, True]), "task": f"wait:{gate}"})
    assert env.recv(1)[2].tolist() == [True]
    gate.touch()
    _, rewards, _, _, infos = env.recv()
    assert infos["env_id"].tolist() == [1] and infos["step"].tolist() == [0] and rewards.tolist() == [0.0]


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda env: env.recv(), NoAsyncCallError, "nothing was sent"),
        (
            lambda env: [env.send([WAIT], [1]), env.send([WAIT], [1])],
            AlreadyPendingCallError,
            r"\[1\] are busy: call recv",
        ),
        (lambda env: [env.send([WAIT], [1]), env.reset()], AlreadyPendingCallError, "busy"),
        (lambda env: [env.send([WAIT], [1]), env.step([WAIT] * 2)], AlreadyPendingCallError, "busy"),
        (lambda env: [env.send([WAIT], [1]), env.call("stats")], AlreadyPendingCallError, "busy"),
        (lambda env: env.send([WAIT], [2]), ValueError, "different numbers from 0 to 1"),
        (lambda env: env.send([WAIT] * 2, [1, 1]), ValueError, "different numbers"),
        (lambda env: env.send([WAIT] * 3), ValueError, "got 3 actions for 2 environments"),
        (lambda env: env.step(None), ValueError, "actions are a batch"),
        (lambda env: env.step(WAIT), ValueError, "actions are a batch"),
        (lambda env: [env.send([WAIT] * 2), env.recv(0)], ValueError, "batch_size=0"),
        (lambda env: env.reset(seed=[1]), ValueError, "got 1 seeds for 2"),
        (lambda env: env.reset(options={"reset_mask": [True, False]}), ValueError, "bool array of shape"),
        (lambda env: env.reset(options={"reset_mask": np.zeros(2, bool)}), ValueError, "names no environment"),
        (lambda env: env.reset(options={"colour": "red"}), ValueError, "unknown reset options"),
        (lambda env: env.set_attr("max_steps", [1, 2, 3]), ValueError, "got 3 values"),
        (lambda env: env.call("step", WAIT), ValueError, "use its own step"),
        (lambda env: env.call("oracle"), TypeError, "cannot be sent to another process"),
        (lambda env: env.call("nothing"), AttributeError, "nothing"),
        (lambda env: [env.close(), env.reset()], ClosedEnvironmentError, "closed"),
    ],
)
def test_mistakes_say_what_they_are(vector, use, error, message):
    env = vector(desktop, 2)
    env.reset(seed=1)
    with pytest.raises(error, match=message):
        use(env)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs=0"),
        ({"num_envs": 1, "autoreset_mode": "Never"}, "'NextStep', 'SameStep', 'Disabled'"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        DesktopVectorEnv(desktop, **options)


def test_a_failed_reset_can_be_done_again(vector):
    env = vector(partial(desktop), 2)
    with pytest.raises(ValueError, match="reset option task=5"):
        env.reset(options={"task": 5})
    assert env.reset(seed=1)[1]["_task"].all()


def test_what_cannot_travel_leaves_nobody_busy(vector):
    env = vector(desktop, 2)
    env.reset(seed=1)
    secret = threading.Lock()
    with pytest.raises(TypeError, match="pickle"):
        env.set_attr("secret", [1, secret])
    with pytest.raises(TypeError, match="pickle"):
        env.send([secret], [1])
    assert env.step([WAIT] * 2)[4]["step"].tolist() == [1, 1]


def test_attributes_methods_and_rendering(vector):
    env = vector(partial(desktop, render_mode="rgb_array"), 2)
    env.reset(seed=1)
    env.set_attr("max_steps", [7, 8])
    assert env.get_attr("step_limit") == (7, 8) and env.call("stats")[1]["starts"] == 1
    assert [frame.shape for frame in env.render()] == [(120, 160, 3)] * 2
    with pytest.raises(ValueError, match="no masks"):
        env.call("action_masks")
    assert env.step([WAIT] * 2)[4]["step"].tolist() == [1, 1]


def test_a_worker_that_cannot_build_says_why(vector):
    parent = os.getpid()

    def make_env():
        if os.getpid() != parent:
            raise RuntimeError("no room at the inn")
        return desktop()

    with pytest.raises(RuntimeError, match="no room at the inn"):
        vector(make_env, 2).reset()


def test_an_error_of_nobodys_tells_where_it_comes_from(vector):
    def guard(parsed):
        return {}["missing"]

    def make_env():
        env = desktop()
        env.guards.append(guard)
        return env

    env = vector(make_env, 1)
    env.reset()
    with pytest.raises(KeyError) as caught:
        env.step([WAIT])
    # cloudpickle 3.1.3 keeps lines and names of what it carries, and no longer the file
    assert f"line {guard.__code__.co_firstlineno + 1}, in guard" in "".join(caught.value.__notes__)


# --- frames


def test_frames_are_captured_into_the_shared_row(vector):
    def make_env():
        env = desktop()
        env.frame_is = lambda: (env.observer.frame is not None, int(env.observer.frame.sum()))
        return env

    env = vector(make_env, 2, copy=False)
    observations, _ = env.reset(seed=1)
    for row, (shared, total) in enumerate(env.call("frame_is")):
        assert shared and total == observations["screenshot"][row].sum()
    before = observations["screenshot"].copy()
    again = env.step([{"action": "click", "x": 1, "y": 1}, WAIT])[0]
    assert np.may_share_memory(again["screenshot"], observations["screenshot"])
    assert (observations["screenshot"][0] != before[0]).any() and (observations["screenshot"][1] == before[1]).all()
    observations["screenshot"][1] = 7  # what is given back is the memory itself
    assert env.call("frame_is")[1] == (True, 7 * before[1].size)


def test_copies_do_not_change(vector):
    env = vector(desktop, 1)
    observations, _ = env.reset(seed=1)
    before = observations["screenshot"].copy()
    env.step([{"action": "click", "x": 1, "y": 1}])
    assert (observations["screenshot"] == before).all()


def test_what_is_given_back_outlives_the_vector():
    env = DesktopVectorEnv(desktop, 1, copy=False)
    observations, _ = env.reset(seed=1)
    total = observations["screenshot"].sum()
    env.close()
    del env
    assert observations["screenshot"].sum() == total


def test_final_observations_are_not_overwritten(vector):
    env = vector(partial(desktop, max_steps=1), 2, autoreset_mode="SameStep", copy=False)
    env.reset(seed=1)
    click = {"action": "click", "x": 3, "y": 3}
    observations, *_, infos = env.step([click, WAIT])
    finals = [final["screenshot"].copy() for final in infos["final_obs"]]
    assert (finals[0] != observations["screenshot"][0]).any()  # the pointer is back in the middle
    env.step([click, click])
    assert all((final == kept["screenshot"]).all() for final, kept in zip(finals, infos["final_obs"], strict=True))


def test_a_window_of_frames_keeps_them(vector):
    env = vector(lambda: HistoryWindow(desktop(observation=("screenshot",)), 2), 1, copy=False)
    alone = HistoryWindow(desktop(observation=("screenshot",)), 2)
    env.reset(seed=1), alone.reset(seed=1)
    for x in (5, 50, 100):
        action = {"action": "click", "x": x, "y": 5}
        ours, theirs = env.step([action])[0], alone.step(action)[0]
        assert equal({name: part[0] for name, part in ours.items()}, theirs)


def test_recordings_have_each_frame(vector, tmp_path):
    env = vector(lambda: RecordEpisode(desktop(max_steps=3), tmp_path), 1, copy=False)
    seen = [env.reset(seed=1)[0]["screenshot"][0].copy()]
    for x in (5, 50, 100):
        seen.append(env.step([{"action": "click", "x": x, "y": 5}])[0]["screenshot"][0].copy())
    env.close()
    recording = Recording.load(next(tmp_path.iterdir()))
    for step, frame in zip(recording.steps, seen, strict=True):
        assert (recording.frame(step["frame"]) == frame).all()


def test_blank_observations_are_members():
    space = gym.spaces.Dict(
        {"frame": gym.spaces.Box(0, 9, (2, 2), np.uint8), "pair": gym.spaces.Tuple((gym.spaces.Discrete(3),))}
    )
    assert blank(space) in space and blank(desktop().observation_space) in desktop().observation_space


# --- gym.make_vec

SCRIPT = """
import threading, sys, warnings
import gymnasium as gym, numpy as np, torch, deskgym
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.vector_env import DesktopVectorEnv
sys.path.insert(0, sys.argv[1])
from vector_fakes import NumberSource, NumberTask, WAIT

print("begin")
torch.ones(300, 300) @ torch.ones(300, 300)
threading.Thread(target=threading.Event().wait, daemon=True).start()

class MyTask(NumberTask):
    def prepare(self, machine):
        self.instruction = f"mine {COLOUR}"

class MySource(NumberSource):
    task_class = MyTask

class MyWrapper(gym.Wrapper):
    def step(self, action):
        observation, reward, *rest = self.env.step(action)
        return observation, reward + 41, *rest

COLOUR = "blue"

def make():
    return MyWrapper(DesktopEnv(MySource(), machine="fake", screen_size=(64, 64)))

env = DesktopVectorEnv(make, 2)
observations, infos = env.reset(seed=1)
assert observations["instruction"] == ("mine blue",) * 2, observations["instruction"]
assert env.step([WAIT, WAIT])[1].tolist() == [41, 41]
print("end")
"""


def test_a_plain_script_needs_no_guard_and_no_close():
    pytest.importorskip("torch")
    done = subprocess.run(
        [
            sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning:torch", "-",
            os.path.dirname(os.path.dirname(__file__)),
        ],
        input=SCRIPT, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("begin\nend\n", "", 0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"task": "ladder/9-tab"}, TaskError, "unknown task"),
        ({"pool": {"dept": 1}}, ValueError, "did you mean 'depth'"),
        ({"autoreset_mode": "no"}, ValueError, "autoreset_mode='no'"),
        ({"max_envs": 3}, TypeError, "max_envs"),
    ],
)
def test_make_vec_with_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        gym.make_vec("deskgym/Science-v0", num_envs=2, **options)


def test_make_vec_after_threads_knows_the_environment_and_the_limits(monkeypatch):
    stop = threading.Event()
    threading.Thread(target=stop.wait).start()
    monkeypatch.setenv("DESKGYM_TEST_WORD", "plum")  # set after the workers' server was started
    try:
        env = gym.make_vec(
            "deskgym/Science-v0", num_envs=2, task="ladder/*", machine="fake", max_episode_steps=3,
            env_wrappers=[Told], autoreset_mode="SameStep",
        )  # fmt: skip
        assert env.get_attr("told") == (("plum", {"depth": 1, "reserve_mb": 1024, "snapshots": 8}),) * 2
        assert env.spec.id == "deskgym/Science-v0" and env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        env.close()
    finally:
        stop.set()


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(("form", "last"), [("computer", DONE), ("code", "DONE"), ("discrete", None)])
def test_make_vec_on_the_real_program(form, last):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make_vec(
            "deskgym/Science-v0", num_envs=2, task="kalgebra/plot-2d", screen_size=(1280, 720), action=form,
            max_steps=1, observation=("screenshot", "elements", "instruction"), autoreset_mode="SameStep", copy=False,
        )  # fmt: skip
        try:
            observations, infos = env.reset(seed=1)
            assert observations in env.observation_space and len(set(infos["task"])) == 2
            assert form != "discrete" or infos["action_mask"].any(1).all()
            actions = [last] * 2 if last else env.action_space.sample()
            observations, rewards, terminated, truncated, infos = env.step(actions)
            assert (terminated | truncated).all() and observations in env.observation_space
            assert infos["final_info"]["verdict"]["score"].tolist() == rewards.tolist() == [0.0, 0.0]
            assert [final["screenshot"].shape for final in infos["final_obs"]] == [(720, 1280, 3)] * 2
            assert infos["stats"]["swaps"].tolist() == [1, 1]
        finally:
            env.close()


class Told(gym.Wrapper):
    @property
    def told(self):
        return os.environ.get("DESKGYM_TEST_WORD"), vars(self.unwrapped.pool.config)
