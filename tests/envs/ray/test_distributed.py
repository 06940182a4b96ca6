"""DistributedEnvs on a cluster of Ray nodes here: the same batches, whole episodes, lost workers and lost nodes."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import gymnasium as gym
import numpy as np
import psutil
import pytest
from gymnasium.vector import SyncVectorEnv

from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError, MachineError, TaskError
from deskgym.envs.evaluation.verdict import CheckResult, Verdict

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'deskgym[ray]'")
cluster_utils = pytest.importorskip("ray.cluster_utils")

from deskgym.envs.ray.envs import DistributedEnvs  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),
    pytest.mark.timeout(180),
]  # the cluster takes seconds, a lost node more of them
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the actors cannot import it

MODES = ("NextStep", "SameStep", "Disabled")
SMALL = {"num_cpus": 0.5, "memory_mb": 100}


class NumberTask:
    """Solved by answering with the number that it asks for."""

    verbose, tags, vocabulary, keys = (), (), (), ()
    max_steps, difficulty, source, split, feasible = 4, "easy", "tests", None, True
    wrong_attempts = {}

    def __init__(self, number):
        self.id, self.seed, self.params = f"fake/number#{number}", number, {}
        self.number, self.instruction = number, f"Answer {number}."

    def prepare(self, machine):
        machine.put("/home/user/number.txt", str(self.number).encode())

    def evaluate(self, final):
        right = final.answer == str(self.number)
        return Verdict.from_checks([CheckResult("answer", "pass" if right else "fail", repr(final.answer))])


class NumberSource:
    def ids(self, split=None):
        return ["fake/number"]

    def get(self, task_id, seed=None):
        return NumberTask(seed or 0)

    def draw(self, rng, pattern=None, split=None):
        if pattern not in (None, "fake/number"):
            raise TaskError(f"no task {pattern!r}")
        return NumberTask(int(rng.integers(1000)))


class Gate(gym.Wrapper):
    """A click at x = 99 waits while the file ``shut`` is there; each reset leaves a line in ``resets``."""

    def __init__(self, env, folder):
        super().__init__(env)
        self.folder = folder

    def reset(self, **options):
        with open(f"{self.folder}/resets", "a") as file:
            file.write(f"{os.getpid()}\n")
        return self.env.reset(**options)

    def step(self, action):
        deadline = time.monotonic() + 60
        while getattr(action, "x", 0) == 99 and os.path.exists(f"{self.folder}/shut") and time.monotonic() < deadline:
            time.sleep(0.01)
        return self.env.step(action)


def make(folder=None, **options):
    options = {"machine": "fake", "screen_size": (160, 120), "observation": ("screenshot", "instruction")} | options
    env = DesktopEnv(NumberSource(), **options)
    return Gate(env, str(folder)) if folder else env


class Answer:
    """Answers what the instruction asks for, plus what the weights say, in the second step."""

    def __init__(self):
        self.added, self.steps = 0, 0

    def set_weights(self, weights):
        self.added = int(weights["added"][0])

    def __call__(self, observation, info):
        if info["step"] == 0:
            return Action("click", x=5, y=5), None
        number = int(observation["instruction"].split()[1].strip("."))
        return Action("answer", text=str(number + self.added)), {"added": self.added}


class Nodes:
    """A cluster of this process's node, which has no cores, and two further ones."""

    def __init__(self):
        head = {"num_cpus": 0, "object_store_memory": 10**8, "include_dashboard": False}
        self.cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        self.workers = [self.add(), self.add()]
        self.cluster.wait_for_nodes()
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")

    def add(self, **options):
        return self.cluster.add_node(num_cpus=2, memory=2 << 30, object_store_memory=10**8, wait=False, **options)

    def remove(self, node_id):
        """Kill all processes of a node."""
        node = next(node for node in self.workers if node.node_id == node_id)
        self.workers.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)

    def lose(self, node_id, envs):
        """Remove a node, and wait for the end of the environments' workers on it, which follow it on their own."""
        self.remove(node_id)
        pids = [place.pid for place in envs.places if place.node == node_id]
        wait_for_end(lambda: pids, "the node's workers")

    def mend(self):
        while len(self.workers) < 2:
            self.workers.append(self.add())
        self.cluster.wait_for_nodes()

    def close(self):
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def running():
    others = set(psutil.Process().children())  # of the tests before
    nodes = Nodes()
    yield nodes
    nodes.close()
    wait_for_end(lambda: [p.pid for p in set(psutil.Process().children()) - others], "the cluster")


@pytest.fixture
def nodes(running):
    running.mend()
    return running


@pytest.fixture
def start(nodes):
    """Starts DistributedEnvs, and afterwards sees that their processes are gone."""
    opened = []

    def start(*arguments, **options):
        opened.append(DistributedEnvs(*arguments, **(SMALL | options)))
        return opened[-1]

    yield start
    for envs in opened:
        pids = [place.pid for place in envs.places]
        envs.close()
        envs.close()
        wait_for_end(lambda pids=pids: pids, "the actors")


def wait_for_end(pids, what):
    """Wait until none of these runs. One that nobody has collected yet has ended, too."""

    def running():
        found = []
        for pid in pids():
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append((pid, process.status(), " ".join(process.cmdline())[:200]))
        return found

    try:
        wait_until(lambda: not running(), f"{what} ended")
    except AssertionError as error:
        raise AssertionError(f"{error}; there are {running()}") from None


def wait_until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def same(a, b):
    """Equal in all but timings."""
    if isinstance(a, dict):
        skip = {"timing", "_timing", "prepared", "_prepared", "stats", "_stats"}
        return a.keys() - skip == b.keys() - skip and all(same(a[k], b[k]) for k in a.keys() - skip)
    if isinstance(a, np.ndarray) and a.dtype != object:
        return np.array_equal(a, b) and a.dtype == b.dtype
    if isinstance(a, (list, tuple, np.ndarray)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


CLICK, DONE = Action("click", x=5, y=5), Action("done")


@pytest.mark.parametrize("mode", MODES)
def test_gives_what_a_sync_vector_env_gives(start, mode):
    ours = start(make, 3, autoreset_mode=mode)
    theirs = SyncVectorEnv([make] * 3, autoreset_mode=gym.vector.AutoresetMode(mode))
    for vector in (ours, theirs):
        vector.action_space.seed(3)
    assert same(ours.reset(seed=5), theirs.reset(seed=5))
    for turn in range(8):
        actions = theirs.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        assert same(one, other), f"step {turn}"
        over = other[2] | other[3]
        if mode == "Disabled" and over.any():
            options = {"reset_mask": over}
            assert same(ours.reset(options=dict(options)), theirs.reset(options=dict(options)))
    theirs.close()


def test_other_action_forms_and_calls(start):
    ours = start(partial(make, action="code", observation=("instruction", "feedback")), 2)
    observations, _ = ours.reset(seed=1)
    assert len(observations["instruction"]) == 2
    _, rewards, terminated, _, infos = ours.step(["DONE", "ANS nothing"])
    assert terminated.all() and (rewards == 0).all() and infos["verdict"]["score"].tolist() == [0, 0]
    assert ours.call("step_limit") == (4, 4)
    assert [stats["episodes"] for stats in ours.get_attr("stats")] == [1, 1]
    with pytest.raises(TaskError, match="no task"):
        ours.reset(options={"task": "nothing"})


def wait_at_gate(folder):
    (folder / "shut").touch()
    return Action("click", x=99, y=5)


def test_slow_ones_hold_up_nobody(start, tmp_path):
    slow = wait_at_gate(tmp_path)
    envs = start(partial(make, tmp_path, max_steps=1000), 3)
    envs.reset(seed=1)
    envs.send([slow, CLICK, CLICK])
    for turn in range(10):
        observations, *_, infos = envs.recv(2, timeout=30)
        assert infos["env_id"].tolist() == [1, 2] and observations["screenshot"].shape[0] == 2
        assert infos["step"].tolist() == [turn + 1] * 2
        envs.send([CLICK, CLICK], infos["env_id"])
    with pytest.raises(TimeoutError):
        envs.recv(timeout=0.2)
    with pytest.raises(gym.error.AlreadyPendingCallError):
        envs.send([CLICK], [0])
    (tmp_path / "shut").unlink()
    *_, infos = envs.recv(timeout=30)
    assert infos["env_id"].tolist() == [0, 1, 2] and infos["step"].tolist() == [1, 11, 11]
    with pytest.raises(gym.error.NoAsyncCallError):
        envs.recv()


def test_an_illegal_action_is_raised_and_nothing_is_lost(start):
    envs = start(make, 2)
    envs.reset(seed=1)
    envs.send([Action("click", x=9999, y=0), CLICK])
    with pytest.raises(ActionError):
        envs.recv()
    *_, infos = envs.recv()
    assert infos["env_id"].tolist() == [1]


# --- whole episodes


def test_episodes_are_the_seeds_and_count_what_was_begun(start):
    envs = start(make, 3)
    observations, _ = envs.reset(seed=7)
    episodes = list(envs.episodes(Answer(), count=8, seed=7))
    assert len(episodes) == 8 and {episode.env_id for episode in episodes} == {0, 1, 2}
    for env_id in range(3):
        first = next(episode for episode in episodes if episode.env_id == env_id)
        assert first.observations[0]["instruction"] == observations["instruction"][env_id]
    for episode in episodes:
        assert len(episode) == 2 and len(episode.observations) == len(episode.infos) == 3
        assert episode.rewards.tolist() == [0, 1] and episode.verdict["success"] and episode.terminated
        assert episode.extras == [None, {"added": 0}] and episode.fault is None and episode.version == 0
        assert episode.node in {place.node for place in envs.places}
    assert len({episode.infos[0]["task"] for episode in episodes}) > 3
    assert list(envs.episodes(Answer(), count=0)) == []


def test_weights_reach_the_policies(start):
    envs = start(make, 2)
    versions = []
    for episode in envs.episodes(Answer(), count=12, ahead=1):
        assert (episode.rewards[-1] == 1) == (episode.version == 0)
        versions.append(episode.version)
        if len(versions) == 4:
            envs.set_weights({"added": np.ones(1)})
    assert versions[:4] == [0] * 4 and versions[-4:] == [1] * 4
    assert [episode.version for episode in envs.episodes(Answer(), count=2)] == [1, 1]


def test_environments_wait_for_the_learner(start, tmp_path):
    envs = start(partial(make, tmp_path), 1)
    begun = lambda: len((tmp_path / "resets").read_text().split())  # noqa: E731
    stream = envs.episodes(Answer(), ahead=3)
    next(stream)
    wait_until(lambda: begun() == 4, "it is three ahead")
    time.sleep(0.5)
    assert begun() == 4
    next(stream)
    wait_until(lambda: begun() == 5, "it goes on")
    stream.close()


class Slow(Answer):
    """Clicks where the gate is, again and again."""

    def __call__(self, observation, info):
        return Action("click", x=99, y=5), None


class Endless(Answer):
    """Plays one episode well, and then for ever."""

    def __call__(self, observation, info):
        self.steps += 1
        return super().__call__(observation, info) if self.steps <= 2 else (CLICK, None)


def test_a_closed_iterator_ends_what_is_under_way(start):
    envs = start(partial(make, max_steps=10**9, observation=("instruction",)), 2)
    stream = envs.episodes(Endless())
    assert len(next(stream)) == 2
    stream.close()
    assert envs.reset(seed=1)[1]["step"].tolist() == [0, 0]
    for _ in range(5):  # with an episode that was only just queued
        stream = envs.episodes(Endless())
        next(stream)
        stream.close()
        assert envs.reset()[1]["step"].tolist() == [0, 0]
    assert envs.stats["lost_workers"] == 0


def test_no_steps_while_episodes_are_played(start):
    envs = start(make, 1)
    stream = envs.episodes(Answer())
    next(stream)
    with pytest.raises(gym.error.AlreadyPendingCallError, match="close its iterator"):
        envs.reset()
    with pytest.raises(gym.error.AlreadyPendingCallError):
        envs.episodes(Answer())
    stream.close()
    envs.reset()


class Broken(Answer):
    def __call__(self, observation, info):
        raise KeyError("the policy's own mistake")


def test_a_policys_mistake_is_raised_with_its_traceback(start):
    envs = start(make, 2)
    with pytest.raises(KeyError, match="own mistake") as caught:
        list(envs.episodes(Broken(), count=2))
    assert "in __call__" in str(caught.value)
    assert len(list(envs.episodes(Answer(), count=2))) == 2


def test_an_episode_that_takes_too_long_is_lost(start, tmp_path):
    wait_at_gate(tmp_path)
    envs = start(partial(make, tmp_path), 1)
    with pytest.raises(MachineError, match="4 times in a row"):
        for episode in envs.episodes(Slow(), timeout=1):
            assert episode.fault["kind"] == "worker_lost" and "took over 1 s" in episode.fault["message"]
    assert envs.stats["lost_workers"] == 4


# --- losses


def test_a_killed_worker_costs_its_own_step(start, tmp_path):
    slow = wait_at_gate(tmp_path)
    envs = start(partial(make, tmp_path), 3)
    envs.reset(seed=1)
    envs.send([CLICK, slow, CLICK])
    os.kill(envs.places[1].pid, signal.SIGKILL)
    observations, rewards, terminated, truncated, infos = envs.recv()
    assert truncated.tolist() == [False, True, False] and not terminated.any() and not rewards.any()
    assert infos["fault"]["kind"][1] == "worker_lost" and infos["_fault"].tolist() == [False, True, False]
    assert not observations["screenshot"][1].any() and observations["screenshot"][0].any()
    assert envs.stats["lost_workers"] == 1
    *_, truncated, infos = envs.step([CLICK] * 3)
    assert not truncated.any() and infos["step"].tolist() == [2, 0, 2]
    assert same(envs.step([DONE] * 3)[2], np.ones(3, bool))


def test_a_killed_worker_costs_its_own_episode(start):
    envs = start(make, 3)
    episodes = []
    for episode in envs.episodes(Answer(), count=40):
        episodes.append(episode)
        if len(episodes) == 10:
            os.kill(envs.places[2].pid, signal.SIGKILL)
    lost = [episode for episode in episodes if episode.fault]
    assert len(episodes) == 40 and [(e.env_id, e.fault["kind"], len(e)) for e in lost] == [(2, "worker_lost", 0)]
    assert all(episode.verdict["success"] for episode in episodes if not episode.fault)
    assert any(episode.env_id == 2 for episode in episodes[episodes.index(lost[0]) + 1 :])
    assert envs.stats["lost_workers"] == 1


def test_a_lost_node_costs_the_episodes_on_it(nodes, start):
    envs = start(make, 4)
    gone = envs.places[0].node
    there = [place.node == gone for place in envs.places]
    assert sorted(there) == [False, False, True, True]
    envs.reset(seed=1)
    envs.step([CLICK] * 4)
    nodes.lose(gone, envs)
    *_, truncated, infos = envs.step([CLICK] * 4)
    assert truncated.tolist() == there and infos["_fault"].tolist() == there
    *_, truncated, infos = envs.step([CLICK] * 4)
    assert not truncated.any() and infos["step"].tolist() == [0 if lost else 3 for lost in there]
    assert envs.stats["lost_workers"] == 2


def test_a_lost_node_while_episodes_are_played(nodes, start):
    envs = start(make, 4)
    gone = envs.places[0].node
    episodes = []
    for episode in envs.episodes(Answer(), count=200):
        episodes.append(episode)
        if len(episodes) == 20:
            nodes.remove(gone)
    lost = [episode for episode in episodes if episode.fault]
    assert len(episodes) == 200 and {episode.fault["kind"] for episode in lost} == {"worker_lost"}
    assert {e.env_id for e in lost} == {k for k, place in enumerate(envs.places) if place.node == gone}
    after = episodes[episodes.index(lost[-1]) + 1 :]
    assert gone not in {episode.node for episode in after}


def test_without_room_for_the_lost_the_others_go_on(nodes, start):
    envs = start(make, 4, num_cpus=1, timeout=20)
    gone = envs.places[0].node
    there = [k for k, place in enumerate(envs.places) if place.node == gone]
    others = [k for k in range(4) if k not in there]
    envs.reset(seed=1)
    nodes.lose(gone, envs)
    assert envs.step([CLICK] * 4)[3].sum() == 2
    envs.send([CLICK] * 4)
    for _ in range(5):
        *_, infos = envs.recv(2)
        assert infos["env_id"].tolist() == others
        envs.send([CLICK] * 2, others)
    envs.recv(2)
    with pytest.raises(MachineError, match="no room for 4 environments of 1 CPU") as caught:
        envs.recv()
    assert caught.value.kind == "no_room"
    with pytest.raises(MachineError):
        envs.recv()
    nodes.mend()
    *_, infos = envs.reset(seed=2)
    assert infos["step"].tolist() == [0] * 4


# --- what is refused


def test_a_cluster_that_is_too_small_is_an_error_at_once(nodes, start):
    begun = time.monotonic()
    with pytest.raises(MachineError, match=r"could hold 8 if nothing else ran .*: 4, .*: 4.*; free now") as caught:
        start(make, 9)
    assert caught.value.kind == "no_room" and time.monotonic() - begun < 20
    with pytest.raises(MachineError, match="1 desktop"):
        start(make, 1, resources={"desktop": 1})
    assert envs_run(start(make, 8))


def envs_run(envs):
    return envs.reset(seed=1)[1]["step"].tolist() == [0] * envs.num_envs


def test_room_that_comes_later_is_waited_for(nodes, start):
    with ThreadPoolExecutor() as threads:
        envs = threads.submit(start, make, 1, resources={"late": 1}, room_timeout=60)
        nodes.workers.append(nodes.add(resources={"late": 1}))
        assert envs_run(envs.result())
    nodes.remove(envs.result().places[0].node)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs=0"),
        ({"autoreset_mode": "Never"}, "legal are 'NextStep'"),
        ({"num_cpus": -1}, "CPU=-1"),
        ({"resources": {"desktop": "many"}}, "desktop: legal is a number, got 'many'"),
    ],
)
def test_bad_arguments(start, options, message):
    with pytest.raises(ValueError, match=message):
        start(make, **({"num_envs": 1} | options))


def test_bad_arguments_of_episodes(start):
    with pytest.raises(ValueError, match="ahead=0"):
        start(make, 1).episodes(Answer(), ahead=0)


def test_an_env_that_cannot_be_built_there_is_an_error(start):
    here = os.getpid()

    def make_here_only():
        if os.getpid() != here:
            raise FileNotFoundError("no such benchmark on this host")
        return make()

    with pytest.raises(FileNotFoundError, match="no such benchmark"):
        start(make_here_only, 2)


def test_a_host_that_cannot_run_the_sandbox_is_an_error(start):
    sandbox = partial(make, machine="sandbox")
    with pytest.raises(MachineError, match=r"cannot run on every host .*set XDG_CACHE_HOME") as caught:
        start(sandbox, 2, runtime_env={"env_vars": {"XDG_CACHE_HOME": "/proc/nowhere"}})
    assert caught.value.kind == "not_allowed"


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ | environment
    )


def test_deskgym_does_not_import_ray():
    done = run("import sys, deskgym, deskgym.envs.vector_env; print('ray' in sys.modules)")
    assert done.stdout == "False\n", done.stderr


def test_without_ray_the_error_says_how_to_get_it():
    done = run(
        "import sys; sys.modules['ray'] = None\n"
        "from deskgym.envs.ray.envs import DistributedEnvs\n"
        "DistributedEnvs(print, 1)"
    )
    assert "need ray, which is not installed" in done.stderr and "pip install 'deskgym[ray]'" in done.stderr


# --- real desktops


def real():
    env = gym.make("deskgym/Science-v0", task="ladder/1-tab", screen_size=(640, 480), pool={"depth": 1})
    return env


class Done(Answer):
    def __call__(self, observation, info):
        return (Action("done") if info["step"] else Action("click", x=5, y=5)), None


@pytest.mark.sandbox
def test_real_desktops(start):
    envs = start(real, 2, memory_mb=900)
    family = {}
    episodes = []
    for episode in envs.episodes(Done(), count=8, seed=1):
        episodes.append(episode)
        if len(episodes) == 2:
            worker = psutil.Process(envs.places[1].pid)
            family = {process.pid for process in worker.children(recursive=True)}
            worker.kill()
    assert len(family) >= 5, "a supervisor, a guest, an X server, a window manager, a program"
    lost = [episode for episode in episodes if episode.fault]
    assert [(episode.env_id, len(episode)) for episode in lost] == [(1, 0)]
    assert all(episode.verdict["error"] is None for episode in episodes if not episode.fault)
    assert {episode.env_id for episode in episodes[episodes.index(lost[0]) + 1 :]} == {0, 1}
    wait_until(lambda: not any(map(psutil.pid_exists, family)), "the dead worker's machines are gone")
    observations, _ = envs.reset(seed=3)
    assert observations["screenshot"].shape == (2, 480, 640, 3) and observations["screenshot"].std() > 5
    family = {p.pid for place in worker_places(envs) for p in psutil.Process(place.pid).children(recursive=True)}
    envs.close()
    wait_until(lambda: not any(map(psutil.pid_exists, family)), "the machines are gone")


def worker_places(envs):
    return ray.get([env.actor.place.remote() for env in envs._envs])


LEARNER = """
import os, ray, sys, test_distributed as here
ray.cloudpickle.register_pickle_by_value(here)
ray.init(address=sys.argv[1], log_to_driver=False)
envs = here.DistributedEnvs(here.real, 1, memory_mb=900)
envs.reset(seed=1)
actor = here.psutil.Process(envs.places[0].pid)
print(actor.pid, *[process.pid for process in actor.children(recursive=True)], flush=True)
envs.send([here.CLICK])
here.time.sleep(600)
"""


@pytest.mark.sandbox
def test_nothing_outlives_a_killed_learner(nodes):
    path = os.pathsep.join((os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")))
    learner = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LEARNER, nodes.cluster.address], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    pids = [int(word) for word in learner.stdout.readline().split()]
    learner.kill()
    learner.wait()
    learner.stdout.close()
    assert len(pids) >= 6, "the actor, a supervisor, a guest, an X server, a window manager, a program"
    wait_until(lambda: not any(map(psutil.pid_exists, pids)), "all of them are gone")
