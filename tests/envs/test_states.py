"""Saved states: what comes back, by which way, and what is said of those that cannot be used. On the fake machine."""

import copy
import gc
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import Error
from vector_fakes import DONE, desktop

from deskgym.envs import states
from deskgym.envs.errors import MachineError, StateError
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.states import Seen

CLICK = {"action": "click", "x": 70, "y": 40}
OTHER = {"action": "click", "x": 40, "y": 80}
PLACE = f"{__name__}:KeepsPrograms"


class KeepsPrograms(FakeMachine):
    """A fake whose snapshots keep what its display shows, as they do."""

    kind = "keeps"
    can = FakeMachine.can | {"programs"}
    kept = 0

    def snapshot(self):
        snapshot = super().snapshot()
        type(self).kept += 1
        return snapshot

    def drop(self, snapshot):
        type(self).kept -= 1
        super().drop(snapshot)


@pytest.fixture(autouse=True)
def nothing_is_kept():
    KeepsPrograms.kept = 0
    yield
    gc.collect()
    assert KeepsPrograms.kept == 0


def make(machine="fake", **options):
    options.setdefault("pool", {"snapshots": 0})
    options = {"observation": ("screenshot", "elements", "instruction"), "max_elements": 8} | options
    return desktop(machine=machine, **options)


@pytest.fixture(params=["fake", PLACE], ids=["replay", "snapshot"])
def env(request):
    env = make(request.param)
    env.reset(seed=5)
    yield env
    env.close()


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


def typed(letter):
    return {"action": "type", "text": letter}


def test_what_comes_back_is_what_was_there(env):
    env.step(CLICK)
    here, *_ = env.step(typed("a"))
    with env.save_state() as state:
        there, *_ = env.step(typed("b"))
        assert not same(here, there)
        back, info = env.restore_state(state)
        assert same(here, back) and info["step"] == 2
        assert info["restored"]["how"] == state.how and info["restored"]["differs"] == ""
        assert info["restored"]["steps"] == 2 and info["restored"]["ms"] > 0
        again, *_ = env.step(typed("b"))
        assert same(there, again)


def test_the_way_is_the_best_that_the_machine_has():
    for machine, how in (("fake", "replay"), (PLACE, "snapshot")):
        env = make(machine)
        env.reset(seed=5)
        with env.save_state() as state:
            assert state.how == how and bool(state.why) == (how == "replay")
            assert how in repr(state) and state.task_id in repr(state)
        env.close()


def test_a_state_comes_back_as_often_as_one_likes_and_after_the_end(env):
    env.step(CLICK)
    with env.save_state() as state:
        ends = []
        for _ in range(3):
            env.restore_state(state)
            env.step(typed("x"))
            *_, truncated, info = env.step(DONE)
            ends.append((info["step"], info["verdict"]["score"]))
        env.reset(seed=9)
        assert env.task.id != state.task_id
        _, info = env.reset(options={"state": state})
        assert info["task"] == state.task_id == env.task.id
        assert ends == [(3, 0.0)] * 3


def test_the_step_limit_and_the_next_tasks_are_those_of_then(env):
    env.step(CLICK)
    with env.save_state() as state:
        steps = 0
        truncated = False
        while not truncated:
            *_, truncated, _ = env.step(CLICK)
            steps += 1
        following = env.reset()[1]["task"]
        env.restore_state(state)
        left, truncated = 0, False
        while not truncated:
            *_, truncated, _ = env.step(CLICK)
            left += 1
        assert left == steps
        assert env.reset()[1]["task"] == following
        env.reset(seed=11, options={"state": state})
        assert env.task.id == state.task_id
        other = env.reset()[1]["task"]
        assert other != following and env.reset(seed=11)[1]["task"] == other


def test_forks_stand_where_the_first_does_and_go_their_own_ways(env):
    env.step(CLICK)
    here, *_ = env.step(typed("a"))
    forks = env.fork(3)
    try:
        assert len({id(fork.machine) for fork in (env, *forks)}) == 4
        for k, fork in enumerate(forks):
            seen, *_ = fork.step(typed("bcd"[k]))
            assert fork.task.id == env.task.id and fork.episodes.steps == 3
            assert fork.machine.fake_display.text == "a" + "bcd"[k]
            assert same(here, seen) is False
        assert env.machine.fake_display.text == "a"
        assert len({str(fork.reset()[1]["task"]) for fork in (env, *forks)}) == 1
        (deep,) = forks[0].fork(1)
        deep.close()
    finally:
        for fork in forks:
            fork.close()


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_a_fork_is_of_a_number_from_1_up(env, count):
    with pytest.raises(ValueError, match="number from 1 up"):
        env.fork(count)


def test_an_invalid_action_is_a_step_that_does_nothing_then_too():
    env = make(invalid_action="feedback")
    env.reset(seed=5)
    env.step({"action": "nothing like it"})
    env.step(CLICK)
    with env.save_state() as state:
        env.restore_state(state)
        assert env.episodes.steps == 2 and env.machine.fake_display.focused
    env.close()


def test_the_blame_for_a_broken_machine_is_as_it_was():
    env = make()
    env.reset(seed=5)
    with env.save_state() as untouched:
        env.step(CLICK)
        with env.save_state() as touched:
            for state, acted in ((untouched, False), (touched, True), (untouched, False)):
                env.restore_state(state)
                assert env.episodes.acted is acted
    env.close()


# --- what cannot be


def test_without_an_episode_there_is_no_state():
    env = make()
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        env.save_state()
    env.reset(seed=1)
    env.step(DONE)
    with pytest.raises(gym.error.ResetNeeded, match="over"):
        env.save_state()
    env.close()


def test_a_closed_state_is_of_no_use(env):
    state = env.save_state()
    state.close()
    state.close()
    assert state.closed and "closed" in repr(state)
    for use in (env.restore_state, pickle.dumps, lambda state: env.reset(options={"state": state})):
        with pytest.raises(StateError, match="closed"):
            use(state)
    env.step(CLICK)  # the episode goes on


def test_what_is_no_state_is_told(env):
    with pytest.raises(StateError, match="save_state.*got 7"):
        env.restore_state(7)
    with env.save_state() as state, pytest.raises(ValueError, match="'task'.*beside 'state'"):
        env.reset(options={"state": state, "task": "fake/number"})


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"screen_size": (200, 120)}, "screen_size"),
        ({"action": "code"}, "action"),
        ({"max_steps": 2}, "max_steps"),
        ({"max_elements": 9}, "max_elements"),
    ],
)
def test_a_state_of_another_environment_is_told_apart(env, options, word):
    other = make(PLACE if env.machine.kind == "keeps" else "fake", **options)
    other.reset(seed=1)
    with env.save_state() as state, pytest.raises(StateError, match=word):
        other.restore_state(state)
    assert not other.episodes.over  # it goes on
    other.close()


def test_a_state_of_another_version_is_told_apart(env, monkeypatch):
    with env.save_state() as state:
        monkeypatch.setattr(states, "__version__", "99.0")
        with pytest.raises(StateError, match=r"saved by deskgym .*99\.0.*save it anew"):
            env.restore_state(state)


def test_a_disk_that_is_full_is_a_clear_error_and_leaves_the_episode(monkeypatch):
    env = make(PLACE)
    env.reset(seed=5)

    def full(self):
        raise MachineError("no room for a snapshot: 12 MiB are left", "disk_full")

    monkeypatch.setattr(KeepsPrograms, "snapshot", full)
    with pytest.raises(MachineError, match="no room"):
        env.save_state()
    with pytest.raises(MachineError, match="no room"):
        env.fork(2)
    env.step(CLICK)
    env.close()


def test_a_machine_that_died_gives_no_state(env):
    env.machine.guest.close()
    with pytest.raises(MachineError):
        env.save_state()
    with pytest.raises(MachineError):
        env.fork(2)
    *_, truncated, info = env.step(CLICK)
    assert truncated and info["fault"]


def test_a_state_outlives_the_machine_and_the_environment(env):
    env.step(CLICK)
    env.step(typed("a"))
    with env.save_state() as state:
        env.machine.guest.close()
        _, info = env.restore_state(state)
        assert env.machine.fake_display.text == "a"
        env.close()
        other = make(PLACE if state.how == "snapshot" else "fake")
        other.reset(seed=77)
        other.restore_state(state)
        assert other.machine.fake_display.text == "a" and other.task.id == state.task_id
        other.close()


def test_a_snapshot_that_is_gone_is_replayed():
    env = make(PLACE)
    env.reset(seed=5)
    env.step(CLICK)
    env.step(typed("a"))
    with env.save_state() as state:
        KeepsPrograms.drop(env.machine, state.snapshot())
        _, info = env.restore_state(state)
        assert info["restored"]["how"] == "replay" and env.machine.fake_display.text == "a"
        KeepsPrograms.kept += 1  # dropped twice
    env.close()


def test_a_replay_that_comes_out_otherwise_is_an_error_unless_it_may(monkeypatch):
    env = make()
    env.reset(seed=5)
    env.step(CLICK)
    env.step(typed("a"))
    state = env.save_state()
    presses = iter(range(3, 100))  # another number in each new machine
    monkeypatch.setattr(
        type(env.task), "prepare", lambda task, machine: setattr(machine.fake_display, "presses", next(presses))
    )
    monkeypatch.setattr("deskgym.envs.desktop_env.SAME_AGAIN", 0.05)
    with pytest.raises(StateError, match="replay of 2 steps.*Pressed 3 where .*Pressed 0.*strict=False"):
        env.restore_state(state)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(CLICK)
    _, info = env.restore_state(state, strict=False)
    assert "Pressed" in info["restored"]["differs"]
    env.step(CLICK)
    with pytest.raises(StateError):
        env.fork(2)
    with pytest.raises(StateError):
        env.reset(options={"state": state})
    env.reset(options={"state": state, "strict": False})
    env.close()


def test_a_pickle_is_lent_and_finds_its_task_again(env):
    env.step(CLICK)
    env.step(typed("a"))
    state = env.save_state()
    lent = pickle.loads(pickle.dumps(state))
    assert lent.how == state.how
    other = make(PLACE if state.how == "snapshot" else "fake")
    other.restore_state(lent)
    assert other.machine.fake_display.text == "a" and other.task.instruction == env.task.instruction
    lent.close()
    other.close()
    env.restore_state(state)
    state.close()


def test_states_are_counted(env):
    for _ in range(3):
        env.save_state()  # the last reference goes at once
    gc.collect()
    assert KeepsPrograms.kept == 0
    with env.save_state() as state:
        assert KeepsPrograms.kept == (state.how == "snapshot")
        _, info = env.restore_state(state)
    assert info["stats"]["states_saved"] == 4 and info["stats"]["states_restored"] == 1
    assert info["stats"]["states_replayed"] == (state.how == "replay")


def test_an_env_that_is_copied_keeps_nothing_of_the_episode(env):
    again = copy.deepcopy(env)
    assert again.task is None and again.episodes.over


def test_screens_are_compared_with_some_patience():
    frame = np.zeros((100, 100, 3), np.uint8)
    cursor, window = frame.copy(), frame.copy()
    cursor[5:15, 5:7] = 255
    window[:50] = 255
    seen = Seen.picture(frame)
    assert seen.differs(Seen.picture(cursor)) == "" == seen.differs(seen)
    assert "50.00%" in seen.differs(Seen.picture(window))
    frame[:8] = 255
    assert "8.00%" in seen.differs(Seen.picture(frame))
    rows = ((1, 2, "button", "OK"),)
    assert Seen.picture(frame * 0, rows).differs(Seen.picture(frame, rows)) == ""
    assert "50.00%" in Seen.picture(frame * 0, rows).differs(Seen.picture(window, rows))
    assert "a screen of" in seen.differs(Seen.picture(frame[:50]))
    assert "nothing where 1 2 button OK was" in Seen(rows=((1, 2, "button", "OK"),)).differs(Seen())


def test_the_seed_is_the_one_that_was_given_and_a_bad_one_loses_nothing(env):
    env.reset(seed=5)
    with env.save_state() as state:
        env.restore_state(state)
        assert env.np_random_seed == 5
        env.reset(seed=7, options={"state": state})
        assert env.np_random_seed == 7
        before = env.np_random.bit_generator.state
        with pytest.raises(Error):
            env.restore_state(state, seed=-1)
        with pytest.raises(ValueError, match="strict"):
            env.restore_state(state, strict="no")
    with pytest.raises(StateError, match="closed"):
        env.reset(seed=9, options={"state": state})
    assert env.np_random.bit_generator.state == before and not env.episodes.over
