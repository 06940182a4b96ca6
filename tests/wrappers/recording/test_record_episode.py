"""RecordEpisode on the fake machine: what is in the folder, what it costs, and what a crash or a full disk leaves."""

import errno
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from fake_suite import NUMBER, FakeSource
from hypothesis import given
from hypothesis import strategies as st

from deskgym.agents import OracleAgent, RandomAgent, WrongAgent, run_episode
from deskgym.envs.action.actions import VERBS, Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.wrappers import CoordinateFrame, RecordEpisode, Recording, SetOfMark, rescore
from deskgym.wrappers.recording import writer
from deskgym.wrappers.recording.recorded_state import keep, pack, restore, unpack
from deskgym.wrappers.recording.recording import RecordingError, find_recordings, frame_path, pack_frame

SIZE = (160, 120)
PARTS = ("screenshot", "elements", "instruction", "feedback")


def make(folder, **options):
    options = {"machine": "fake", "screen_size": SIZE, "observation": PARTS} | options
    keep_state = options.pop("keep_state", True)
    return RecordEpisode(DesktopEnv(FakeSource(), **options), folder, keep_state=keep_state)


@pytest.fixture
def solved(tmp_path):
    env = make(tmp_path)
    run_episode(env, OracleAgent(), seed=3)
    env.close()
    return env.episode_folder


def test_an_episode_is_recorded_whole(tmp_path):
    env = make(tmp_path)
    observation, _ = env.reset(seed=3)
    frames = [observation["screenshot"].copy()]
    for action in env.inner.oracle():
        observation, *_ = env.step(action)
        frames.append(observation["screenshot"].copy())
    recording = Recording.load(env.episode_folder)
    env.close()
    assert recording.complete and recording.verdict["success"]
    assert [step["step"] for step in recording.steps] == [0, 1, 2, 3]
    assert recording.steps[1]["action"]["action"] == "click" and recording.steps[3]["action"]["text"]
    assert recording.steps[3]["terminated"] and recording.steps[3]["reward"] == 1.0
    for step, frame in zip(recording.steps, frames, strict=True):
        assert np.array_equal(recording.frame(step["frame"]), frame)
    elements = recording.elements(recording.steps[0]["elements"])
    assert len(elements["rows"]) == len(elements["texts"]) > 0
    meta = recording.meta
    assert meta["task"]["params"]["number"] == 100 + meta["task"]["seed"] and meta["seed"] == 3
    assert meta["screen_size"] == [*SIZE] and meta["machine"] == "fake" and meta["versions"]["gymnasium"]


def test_equal_frames_are_stored_once(tmp_path):
    env = make(tmp_path)
    env.reset(seed=1)
    for _ in range(4):
        env.step({"action": "wait", "seconds": 0})
    env.close()
    assert len(list((env.episode_folder / "frames").iterdir())) == 1
    assert [step["frame"] for step in Recording.load(env.episode_folder).steps] == [0] * 5


def test_the_recorder_keeps_a_copy_of_the_frame(tmp_path):
    env = make(tmp_path)
    observation, _ = env.reset(seed=1)
    before = observation["screenshot"].copy()
    observation["screenshot"][:] = 0
    env.close()
    assert np.array_equal(Recording.load(env.episode_folder).frame(0), before)


def test_frames_are_captured_even_if_they_are_not_observed(tmp_path):
    env = make(tmp_path, observation=("instruction",))
    env.reset(seed=1)
    env.close()
    assert Recording.load(env.episode_folder).frame(0).shape == (SIZE[1], SIZE[0], 3)


@pytest.mark.parametrize("form", ["computer", "code"])
def test_samples_of_the_action_space_are_recorded_as_json(tmp_path, form):
    env = make(tmp_path, action=form, invalid_action="feedback", max_steps=5)
    env.action_space.seed(1)
    env.reset(seed=1)
    sample = env.action_space.sample()
    env.step(sample)
    env.close()
    recorded = Recording.load(env.episode_folder).steps[1]["action"]
    assert recorded == sample if form == "code" else recorded["action"] in recorded.values()


def told(env, *actions):
    """The lines of these actions in the recording."""
    env.reset(seed=1)
    for action in actions:
        env.step(action)
    env.close()
    return Recording.load(env.episode_folder).steps[1:]


def sample(env, verb, **parts):
    env.action_space.seed(1)
    return env.action_space.sample() | {"action": list(VERBS).index(verb), "modifiers": np.zeros(4, np.int8)} | parts


def around(folder, wrap, **options):
    options = {"machine": "fake", "screen_size": SIZE, "observation": PARTS} | options
    return RecordEpisode(wrap(DesktopEnv(FakeSource(), **options)), folder)


def test_a_sample_around_a_frame_is_recorded_where_it_was_done(tmp_path):
    env = around(tmp_path, lambda env: CoordinateFrame(env, "unit"))
    move = sample(env, "move", point=np.array([0.75, 0.17], np.float32))
    framed, pixels = told(env, move, Action("move", 3, 4))
    assert framed["action"] == {"action": "move", "x": 120, "y": 20}
    assert framed["given"] == {"action": "move", "x": 0.75, "y": pytest.approx(0.17)}
    assert pixels["action"] == {"action": "move", "x": 3, "y": 4} and "given" not in pixels


def test_a_mark_is_recorded_where_it_was_done(tmp_path):
    env = around(tmp_path, SetOfMark)
    env.reset(seed=1)
    x, y = env.env.points[1]
    step, form = told(env, sample(env, "move", mark=2, point=np.array([9, 9])), {"action": "move", "mark": 2})
    assert step["action"] == form["action"] == {"action": "move", "x": x, "y": y}
    assert step["given"] == form["given"] == {"action": "move", "mark": 2}


def test_what_was_refused_is_recorded_as_it_was_given(tmp_path):
    env = around(tmp_path, lambda env: CoordinateFrame(env, "unit"), invalid_action="feedback")
    json_form, joined = told(env, {"action": "click", "x": np.float64(2.5), "y": 0}, np.array([1, 2]))
    assert json_form["action"] == {"action": "click", "x": 2.5, "y": 0} and joined["action"] == [1, 2]
    assert "given" not in json_form and "given" not in joined


def test_an_action_that_says_the_same_is_recorded_once(tmp_path):
    env = make(tmp_path)
    short, whole = told(env, {"action": "click", "x": 9, "y": 8}, sample(env, "click", point=np.array([9, 8])))
    for step in (short, whole):
        assert step["action"]["x"] == 9 and "given" not in step and "performed" not in step


def test_a_discrete_action_has_what_it_came_to_beside_it(tmp_path):
    env = make(tmp_path, action="discrete")
    (done,) = told(env, env.inner.discrete.encode([Action("done")]))
    assert len(done["action"]) == 3 and done["performed"] == [{"action": "done"}]


def test_every_episode_has_a_folder_of_its_own_also_of_two_recorders(tmp_path):
    first, second = make(tmp_path), make(tmp_path)
    for env in (first, second, first):
        run_episode(env, RandomAgent(), seed=1, max_steps=1)
    first.close(), second.close()
    assert [path.name[:5] for path in sorted(tmp_path.iterdir())] == ["00000", "00001", "00002"]
    assert [recording.complete for recording in find_recordings(tmp_path)] == [False] * 3


def test_a_recording_that_is_cut_off_reads_as_far_as_it_got(tmp_path):
    env = make(tmp_path)
    env.reset(seed=1)
    env.step({"action": "click", "x": 30, "y": 30})
    folder = env.episode_folder  # neither closed nor ended: what a killed process leaves
    with (folder / "steps.jsonl").open("a") as file:
        file.write('{"step": 2, "acti')
    recording = Recording.load(folder)
    assert len(recording.steps) == 2 and not recording.complete and recording.verdict is None
    assert rescore(folder, FakeSource()).error.startswith("the state was not kept")
    env.close()


def test_a_lost_or_damaged_frame_reads_as_none(solved):
    frame_path(solved, 0).write_bytes(b"junk")
    frame_path(solved, 1).unlink()
    recording = Recording.load(solved)
    assert recording.frame(0) is None and recording.frame(1) is None and recording.frame("../../x") is None
    assert recording.elements("../../meta") is None


def test_a_fault_is_recorded(tmp_path):
    env = make(tmp_path)
    env.reset(seed=1)
    env.inner.machine.guest.close()
    *_, truncated, info = env.step({"action": "wait", "seconds": 0})
    env.close()
    last = Recording.load(env.episode_folder).steps[-1]
    assert truncated and last["info"]["fault"]["kind"] == info["fault"]["kind"] and last["frame"] is None


def test_no_thread_stays_behind(tmp_path):
    env = make(tmp_path)
    for seed in range(3):
        run_episode(env, OracleAgent(), seed=seed)
    env.close(), env.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("record ")]


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="cannot record into .*file is not a folder that you can write to"):
        make(tmp_path / "file" / "out")  # before a machine is started


def test_a_full_disk_is_one_clear_error(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(writer, "_write", full)
    env = make(tmp_path)
    with pytest.raises(RecordingError, match="No space left on device"):
        env.reset(seed=1)
        for _ in range(3):
            env.step({"action": "wait", "seconds": 0})
        env.close()
    env.close()


def test_the_wrapper_is_in_the_spec_and_wants_a_desktop(tmp_path):
    import gymnasium

    with pytest.raises(TypeError, match="MachineEnv"):
        RecordEpisode(gymnasium.make("CartPole-v1"), tmp_path)
    env = make(tmp_path)
    assert env._saved_kwargs == {"folder": str(tmp_path), "keep_state": True}


# ------------------------------------------------------------------------------------------------------- scoring again


def test_an_episode_is_scored_again_without_a_machine(tmp_path):
    env = make(tmp_path)
    for agent in (OracleAgent(), WrongAgent("other"), RandomAgent()):
        result = run_episode(env, agent, seed=3)
        verdict = rescore(env.episode_folder, FakeSource())
        assert json.dumps(verdict.to_dict()) == json.dumps(result.verdict)
    env.close()


def test_without_its_state_it_is_an_error_and_not_a_zero(tmp_path):
    env = make(tmp_path, keep_state=False)
    run_episode(env, OracleAgent(), seed=3)
    env.close()
    verdict = rescore(env.episode_folder, FakeSource())
    assert "the state was not kept" in verdict.error


def test_a_read_that_was_not_kept_is_an_error_and_not_a_zero(solved):
    path = solved / "state.json"
    state = json.loads(path.read_text())
    del state["reads"]["reader:state"]
    state["reads"][f"file:{NUMBER}"] = {"lost": "100 MiB are over the limit"}
    path.write_text(json.dumps(state))
    verdict = rescore(solved, FakeSource())
    assert verdict.error and "over the limit" in verdict.error
    assert [check.outcome for check in verdict.checks[1:]] == ["error", "pass"]  # "state" reads no machine


def test_a_damaged_state_is_a_clear_error(solved):
    (solved / "state.json").write_text('{"stop": "done"}')
    with pytest.raises(RecordingError, match="state.json cannot be read"):
        rescore(solved, FakeSource())


def test_reads_that_raised_raise_the_same_again():
    final = restore({"stop": "done", "answer": None, "task": "t", "seed": 1, "steps": 2, "reads": {}})
    errors = [
        GuestCallError("no such file", "FileNotFoundError"),
        GuestLost("gone"),
        CheckFailed("not right"),
        KeyError("k"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
    ]
    for k, error in enumerate(errors):
        final.reads[str(k)] = (None, error)
    final.acted = True
    again = restore(json.loads(json.dumps(keep(final))))
    assert again.acted  # what raised is the agent's doing then, too
    for k, error in enumerate(errors[:4]):
        with pytest.raises(type(error)) as caught:
            again.read_once(str(k), lambda machine: None)
        assert getattr(caught.value, "kind", None) == getattr(error, "kind", None)
    with pytest.raises(Exception, match="UnicodeDecodeError: .*bad"):
        again.read_once("4", lambda machine: None)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.just("$kept") | st.integers(), inner)
        | st.lists(inner).map(tuple)
        | st.frozensets(scalars)
        | st.sets(scalars)
    ),
    max_leaves=20,
)


@given(values)
def test_what_readers_return_survives_json(value):
    again = unpack(json.loads(json.dumps(pack(value))))
    assert again == value and type(again) is type(value)


def test_what_cannot_be_kept_says_so():
    with pytest.raises(TypeError, match="a Path|PosixPath"):
        pack({"x": [Path("/")]})


def test_a_frame_file_is_an_ordinary_npy_inside(tmp_path):
    import io

    import zstandard

    frame = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(pack_frame(frame))
    assert np.array_equal(np.load(io.BytesIO(raw), allow_pickle=False), frame)
