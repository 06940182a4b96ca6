"""Wrappers around wrappers: Gymnasium's checker, AsyncVectorEnv and a real program, through all of them at once."""

import copy
import inspect
import pickle
import warnings
from functools import partial

import cloudpickle
import fake_desktops  # noqa: F401 - registers test/WrappedFake-v0
import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv
from stable_baselines3.common import env_checker

import deskgym.wrappers
from deskgym.envs.action.actions import Action
from deskgym.envs.errors import ActionError
from deskgym.retrieval import Store
from deskgym.wrappers import (
    AccessibilityText,
    AnthropicComputerUse,
    CoordinateFrame,
    DownscaleScreenshot,
    ExecutionFeedback,
    FlatForSB3,
    GuiOnly,
    HistoryWindow,
    JointDiscrete,
    OpenAIComputerUse,
    PartialCredit,
    RecordEpisode,
    RegionOfInterest,
    SetOfMark,
    TimeLimitSeconds,
)
from deskgym.wrappers.base import MachineWrapper


def for_grounders(env):
    """A GUI policy that points into a small picture, 0 to 1000, with marks and the last three steps."""
    env = PartialCredit(TimeLimitSeconds(GuiOnly(AccessibilityText(SetOfMark(env), budget=2000)), 600))
    return HistoryWindow(CoordinateFrame(DownscaleScreenshot(env, scale=0.5), "thousand"), k=2, parts=("elements",))


def the_other_way_round(env):
    env = GuiOnly(TimeLimitSeconds(CoordinateFrame(SetOfMark(env), "unit"), 600))
    return PartialCredit(HistoryWindow(AccessibilityText(env, form="xml"), k=1, parts=("elements",)))


def for_responses(env):
    """A language model that answers with a whole response."""
    env = PartialCredit(CoordinateFrame(SetOfMark(AccessibilityText(env, preset="spider2v"), "spider2v"), "thousand"))
    return HistoryWindow(ExecutionFeedback(env), k=3, form="both", parts=("elements", "a11y"))


def for_openai(env):
    return HistoryWindow(OpenAIComputerUse(PartialCredit(GuiOnly(env)), display=(100, 75)), k=1, parts=("elements",))


def for_anthropic(env):
    return TimeLimitSeconds(AnthropicComputerUse(SetOfMark(env), display=(100, 75)), 600)


def for_networks(env):
    env = PartialCredit(TimeLimitSeconds(GuiOnly(RegionOfInterest(env, (0, 0, 80, 60))), 600))
    return FlatForSB3(JointDiscrete(HistoryWindow(env, k=2, parts=("elements",))), ngrams=16)


STACKS = {
    "grounders": (for_grounders, {"invalid_action": "feedback"}),
    "other order": (the_other_way_round, {"invalid_action": "feedback"}),
    "responses": (for_responses, {"action": "code", "invalid_action": "feedback"}),
    "openai": (for_openai, {"invalid_action": "feedback"}),
    "anthropic": (for_anthropic, {"invalid_action": "feedback"}),
    "networks": (for_networks, {"action": "discrete"}),
}


def accepts_samples(env, steps=15):
    """Random actions of the outer space are carried out, and every observation is in the space."""
    env.reset(seed=3)
    env.action_space.seed(3)
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert observation in env.observation_space
        assert "fault" not in info
        if terminated or truncated:
            assert info["verdict"]["error"] is None
            env.reset()


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_keeps_gymnasiums_contract(name):
    wrap, options = STACKS[name]
    env = wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        gym.utils.env_checker.check_env(env, skip_render_check=True)
    accepts_samples(env)
    env.close()


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_is_built_again_from_its_spec(name):
    wrap, options = STACKS[name]
    env = wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options))
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec.to_json() == env.spec.to_json()
    assert again.observation_space == env.observation_space and again.action_space == env.action_space
    accepts_samples(again, 5)
    again.close()
    env.close()


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "cloudpickle": lambda env: pickle.loads(cloudpickle.dumps(env)),
}


@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_of_a_stack_is_a_whole_one(name, way):
    wrap, options = STACKS[name]
    env = wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options))
    env.reset(seed=1)
    again = COPIES[way](env)
    desktop, other = again.unwrapped, env.unwrapped
    assert desktop is not other and len(desktop.guards) == len(other.guards)
    assert desktop.observer.reads_elements and other.observer.reads_elements
    assert desktop.discrete is None or len(desktop.discrete.limits) == len(other.discrete.limits) == 1
    assert again.observation_space == env.observation_space and again.action_space == env.action_space
    accepts_samples(again, 5)
    again.close()
    env.close()


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_refuses_what_the_wrapper_refuses(way):
    env = COPIES[way](GuiOnly(gym.make("test/WrappedFake-v0", disable_env_checker=True, action="code")))
    env.reset(seed=1)
    with pytest.raises(ActionError, match="import os"):
        env.step("import os")
    env.close()


@pytest.mark.parametrize("way", COPIES)
def test_a_copied_recorder_records_its_own_episodes(way, tmp_path):
    env = RecordEpisode(GuiOnly(gym.make("test/WrappedFake-v0", disable_env_checker=True)), tmp_path, keep_state=False)
    env.reset(seed=1)
    again = COPIES[way](env)
    assert again.episode_folder is None and again.keep_state is False
    again.reset(seed=1)
    assert again.episode_folder != env.episode_folder
    again.close()
    env.close()


def test_every_wrapper_records_all_its_arguments(tmp_path):
    given = {"RegionOfInterest": {"box": (0, 0, 80, 60)}, "RecordEpisode": {"folder": str(tmp_path)}}
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "page.md").write_text("# A page\n\n" + " ".join(f"word{k}" for k in range(40)))
    store = Store.build(tmp_path / "store", {"program": tmp_path / "pages"})
    given |= {"TimeLimitSeconds": {"seconds": 9.0}, "RetrievedContext": {"store": str(store.path)}}
    options = {"JointDiscrete": {"action": "discrete"}, "FlatForSB3": {"action": "discrete"}}
    public = [getattr(deskgym.wrappers, name) for name in deskgym.wrappers.__all__]
    kinds = [kind for kind in public if inspect.isclass(kind) and issubclass(kind, gym.Wrapper)]
    assert len(kinds) > 12
    for kind in kinds:
        assert issubclass(kind, MachineWrapper)
        env = gym.make("test/WrappedFake-v0", disable_env_checker=True, **options.get(kind.__name__, {}))
        wrapped = kind(env, **given.get(kind.__name__, {}))
        assert set(wrapped._saved_kwargs) == set(inspect.signature(kind).parameters) - {"env"}, kind
        again = copy.deepcopy(wrapped)
        assert type(again) is kind and again._saved_kwargs == wrapped._saved_kwargs


@pytest.mark.parametrize("number", [-1, 10**9, np.int64(10**9), np.array(10**9)])
def test_a_number_that_is_none_is_an_illegal_action(number):
    env = JointDiscrete(fake_desktops.desktop(action="discrete", invalid_action="feedback"))
    env.reset(seed=1)
    observation, *_, info = env.step(number)
    assert f"discrete action {number}; legal are 0 to" in info["invalid_action"] == observation["feedback"]
    assert info["step"] == 1 and env.desktop.performed == ()
    env = JointDiscrete(fake_desktops.desktop(action="discrete"))
    env.reset(seed=1)
    with pytest.raises(ActionError, match="legal are 0 to"):
        env.step(number)


def test_stacks_work_in_an_async_vector():
    def make(name):
        wrap, options = STACKS[name]
        return wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options))

    for name in ("grounders", "networks"):
        vector = AsyncVectorEnv([partial(make, name)] * 2)
        vector.reset(seed=1)
        for _ in range(4):
            observations, rewards, *_ = vector.step(vector.action_space.sample())
        assert rewards.shape == (2,) and observations in vector.observation_space
        vector.close()


def test_sb3_takes_the_stack_for_networks():
    wrap, options = STACKS["networks"]
    env = wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env_checker.check_env(env)
    env.close()


def test_gymnasiums_recorder_of_videos_takes_an_env_as_it_is(tmp_path):
    av = pytest.importorskip("av")
    env = gym.make("test/WrappedFake-v0", render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(env, str(tmp_path), episode_trigger=lambda _: True, disable_logger=True)
    env.reset(seed=1)
    size = env.render().shape
    for _ in range(5):
        env.step({"action": "click", "x": 5, "y": 5})
    env.close()
    (film,) = tmp_path.glob("*.mp4")
    with av.open(film) as video:
        frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    assert len(frames) == 6 and {frame.shape for frame in frames} == {size}


# --- on a real program


def kalgebra(**options):
    return gym.make(
        "deskgym/Science-v0",
        task="kalgebra/plot-2d",
        screen_size=(960, 600),
        observation=("screenshot", "elements", "a11y", "instruction", "feedback"),
        max_steps=60,
        **options,
    )


def solves(env):
    """The oracle's actions, which pass every wrapper untouched, earn the reward."""
    env.reset(seed=5)
    for action in env.unwrapped.oracle():
        observation, reward, terminated, _, info = env.step(action)
        assert observation in env.observation_space
    assert terminated and reward == 1.0 and info["verdict"]["success"]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["grounders", "other order", "openai", "anthropic"])
def test_the_oracle_solves_a_real_task_through_a_stack(name):
    env = STACKS[name][0](kalgebra(invalid_action="feedback"))
    try:
        accepts_samples(env, 5)
        solves(env)
    finally:
        env.close()


@pytest.mark.sandbox
def test_a_response_solves_a_real_task():
    env = for_responses(kalgebra(action="code", invalid_action="feedback"))
    try:
        env.reset(seed=5)
        actions = list(env.unwrapped.task.params.items())
        expression = dict(actions)["expression"]
        tab = env.unwrapped.screen.find(role="page tab", name="2D Graph").center
        x, y = (round(1000 * place / size) for place, size in zip(tab, (960, 600), strict=True))
        clicked = env.step(f"First the tab.\n```python\npyautogui.click({x}, {y})\n```")[4]
        assert [one["status"] for one in clicked["executions"]] == ["success"]
        _, reward, terminated, _, info = env.step(
            f"```python\npyautogui.write({expression!r} + '\\n')\n```\nand now\n```\nDONE\n```"
        )
        assert terminated and reward == 1.0, info["executions"]
    finally:
        env.close()


@pytest.mark.sandbox
def test_masks_stay_exact_through_a_stack_on_a_real_program():
    env = for_networks(kalgebra(action="discrete"))
    try:
        env.reset(seed=5)
        masks = env.get_wrapper_attr("action_masks")
        rng = np.random.default_rng(0)
        for _ in range(10):
            chosen = int(rng.choice(np.flatnonzero(masks())))
            *_, terminated, truncated, info = env.step(chosen)
            assert "invalid_action" not in info
            if terminated or truncated:
                env.reset()
        refused = np.flatnonzero(~masks())
        assert "invalid_action" in env.step(int(rng.choice(refused)))[4]
        assert env.unwrapped.performed == ()
    finally:
        env.close()


def test_an_action_in_screen_pixels_passes_every_stack():
    for name, (wrap, options) in STACKS.items():
        if name in ("networks", "responses"):
            continue  # discrete and code take no Action
        env = wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options))
        env.reset(seed=0)
        env.step(Action("click", 150, 110))
        assert list(env.unwrapped.performed) == [Action("click", 150, 110)], name
        env.close()
