"""A mistyped argument of any public constructor is one line that says what is legal, and nothing is left running."""

import functools
import gc
import importlib
import os
import threading

import gymnasium as gym
import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deskgym.agents
import deskgym.datasets
import deskgym.wrappers
from deskgym.envs.action.discrete import DiscreteConfig
from deskgym.envs.errors import DeskgymError
from deskgym.envs.evaluation.calls import CallMistakes, convert, parameters
from deskgym.envs.machines import MACHINES, create_machine
from deskgym.envs.needs import Needs
from deskgym.envs.options import _INSTANCES, CheckedFields
from deskgym.envs.provision.pool import PoolConfig
from deskgym.envs.ray.envs import DistributedEnvs
from deskgym.envs.vector_env import DesktopVectorEnv
from deskgym.registration import make_env, make_vector_env
from deskgym.task_suites import load_suite, load_task_files, suites
from deskgym.task_suites.core.suite import TaskSuite
from deskgym.trainers.session import Session

FAKE = {"machine": "fake", "screen_size": [64, 64]}
ODD = [
    None, True, 0, 1, 5, -1, 1.5, float("nan"), float("inf"), 10**400, 1e300, "", "x", "x\ny", "a:b", b"x", (), [], [1],
    ["x"], [[1]], [None], {}, {"x": 1}, {5: 1}, {"depth": "x"}, {1}, object(), print, np.arange(2), np.float64(2.5), 1j,
]  # fmt: skip


SUITES = {}


def suite_once(entry, mode, *args, **options):
    """A suite's tasks, read once for all tries."""
    key = (entry.name, mode, args, *options.items())
    if key not in SUITES:
        SUITES[key] = load_task_files(entry, mode, *args, **options)
    return SUITES[key]


@functools.cache
def wrapped(name):
    """A wrapper around an environment that it can be put around."""
    action = {"JointDiscrete": "discrete", "FlatForSB3": "discrete", "ExecutionFeedback": "code"}.get(name, "computer")
    observation = ("screenshot", "elements", "a11y", "instruction", "feedback", "vocabulary")
    if name == "FlatForSB3":
        observation = ("elements", "vocabulary")
    return {"env": gym.make("deskgym/Science-v0", **FAKE, action=action, observation=observation)}


def everything():
    """Name → (what is called, arguments that are legal, whether it may be called with arguments that are)."""
    found = {entry.gym_id: (make_env, {"suite": entry.name}, True) for entry in suites.ENTRIES}
    for name in deskgym.wrappers.__all__:
        kind = getattr(deskgym.wrappers, name)
        if isinstance(kind, type) and issubclass(kind, gym.Wrapper):
            found[name] = (kind, lambda name=name: wrapped(name), name != "RecordEpisode")
    for place in MACHINES.values():
        module, _, name = place.partition(":")
        base = {"address": "127.0.0.1:1"} if name == "VncMachine" else {}
        found[name] = (getattr(importlib.import_module(module), name), base, True)
    for kind in (Needs, PoolConfig, DiscreteConfig):
        found[kind.__name__] = (kind, {}, True)
    for name in deskgym.agents.__all__:
        kind = getattr(deskgym.agents, name)
        if isinstance(kind, type) and "Agent" in name and name != "Agent":
            found[name] = (kind, {key: "x" for key in parameters(kind, 0)} if name != "RandomAgent" else {}, True)
    found["make_agent"] = (deskgym.agents.make_agent, {"name": "random"}, False)
    for name in ("load_dataset", "to_minari", "write_dataset", "EpisodeCollector", "collect_demos"):
        found[name] = (getattr(deskgym.datasets, name), {}, False)
    found["TaskSuite"] = (TaskSuite, {"name": "x", "folders": []}, True)
    found["load_suite"] = (load_suite, {"name": "science"}, True)
    found["create_machine"] = (functools.partial(create_machine, "fake"), {}, False)
    vector = {"make": lambda: None, "num_envs": 1}
    found["DesktopVectorEnv"] = (DesktopVectorEnv, vector, False)
    found["DistributedEnvs"] = (DistributedEnvs, vector, False)
    found["make_vec"] = (make_vector_env, {"suite": "science"}, False)
    found["Session"] = (Session, FAKE, True)
    return found


EVERYTHING = everything()
OF_ENVS = {
    "DesktopEnv": "deskgym.envs.desktop_env", "TableAnalysisEnv": "deskgym.task_suites.table_analysis.env",
    "KernelEnv": "deskgym.envs.kernel_env",
}  # fmt: skip


def names_of(name):
    """The arguments of one of them."""
    names = set(parameters(EVERYTHING[name][0], 0)) - {"suite", "kind"}
    if "/" in name:
        entry = next(entry for entry in suites.ENTRIES if entry.gym_id == name)
        module, _, env = entry.env.partition(":")
        names |= set(parameters(getattr(importlib.import_module(module), env), 0)) - {"suite"}
        if not entry.display:
            names |= set(parameters(importlib.import_module(OF_ENVS["KernelEnv"]).KernelEnv, 0)) - {"suite"}
    function = EVERYTHING[name][0]
    plain = isinstance(function, type) and issubclass(function, CheckedFields)  # its __init__ refuses names itself
    names -= {"env_id"}  # Gymnasium says what is wrong with an id
    takes_any = name in ("to_minari", "write_dataset")
    return sorted(names | (set() if plain or takes_any else {"no_such_argument"}))


def fits(function, name, value):
    known = parameters(function, 0)
    try:
        convert(value, known[name].annotation, _INSTANCES)
    except (CallMistakes, KeyError):
        return False
    return True


def attempt(name, argument, value):
    """What comes of giving a value for an argument: None, or the error."""
    function, base, callable_when_legal = EVERYTHING[name]
    if not callable_when_legal and fits(function, argument, value):
        return None
    base = base() if callable(base) else base
    try:
        if "/" in name:
            made = gym.make(name, **{argument: value})
        else:
            made = function(**{**base, argument: value})
    except Exception as error:
        return error
    if hasattr(made, "close"):
        made.close()
    return None


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left():
    patch = pytest.MonkeyPatch()
    patch.setattr(deskgym.task_suites, "load_task_files", suite_once)
    gc.collect()
    before = threading.active_count(), len(os.listdir("/proc/self/fd"))
    children = set(psutil.Process().children(recursive=True))
    yield
    patch.undo()
    gc.collect()
    assert set(psutil.Process().children(recursive=True)) == children
    assert threading.active_count() <= before[0]
    assert len(os.listdir("/proc/self/fd")) <= before[1] + 5  # libraries keep some


TRIES = 12  # of each


@pytest.mark.parametrize("name", EVERYTHING)
def test_an_odd_argument_is_one_line_that_names_it(name):
    tried = []

    @settings(
        max_examples=TRIES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
    )
    @given(data=st.data())
    def try_one(data):
        argument = data.draw(st.sampled_from(names_of(name)))
        odd = data.draw(st.sampled_from(ODD))
        error = attempt(name, argument, odd)
        tried.append(argument)
        if error is not None:
            is_one_line_that_names(error, argument, odd)

    try_one()
    assert len(tried) >= TRIES


def is_one_line_that_names(error, argument, odd):
    assert isinstance(error, ValueError | DeskgymError | gym.error.Error), repr(error)
    said = str(error)
    assert "\n" not in said, said
    assert (
        argument in said
        or (argument == "name" and "suite" in said)
        or argument.rstrip("s") in said
        or argument.replace("_", " ") in said
    ), (said, argument, odd)


def test_enough_is_tried():
    assert TRIES * len(EVERYTHING) >= 200
