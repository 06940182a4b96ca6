"""FlatForSB3: what Stable-Baselines3 checks, what the arrays say, and that it trains."""

import json
import time
import warnings

import gymnasium as gym
import numpy as np
import pytest
from fake_suite import FakeSource
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

from deskgym.envs.action.actions import VERBS, Action
from deskgym.envs.action.spaces import action_from_sample
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.observation.spaces import OBSERVATIONS
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers import FlatForSB3, JointDiscrete
from deskgym.wrappers.rl.flat_for_sb3 import FEATURES, ROLE_COLUMNS, element_features, element_texts, role_column
from deskgym.wrappers.rl.hashing import hashed

SIZE = (160, 120)
F = len(FEATURES)
LISTED = ("elements", "instruction", "vocabulary")


def desktop(**options):
    return DesktopEnv(FakeSource(), **({"machine": "fake", "screen_size": SIZE, "max_elements": 8} | options))


gym.register("test/FlatFake-v0", entry_point=f"{__name__}:desktop", nondeterministic=True)


def make(inner=lambda env: env, ngrams=64, screenshot=True, **options):
    options = {"action": "discrete", "observation": LISTED} | options
    return FlatForSB3(inner(gym.make("test/FlatFake-v0", **options)), ngrams=ngrams, screenshot=screenshot)


@pytest.fixture
def env():
    env = make()
    yield env
    env.close()


class More(gym.ObservationWrapper, gym.utils.RecordConstructorArgs):
    """Adds parts of every kind, as other wrappers may."""

    PARTS = spaces.Dict(
        {
            "mark": spaces.Discrete(5, start=2),
            "marks": spaces.MultiDiscrete([[3, 4], [5, 6]]),
            "bits": spaces.MultiBinary([2, 3]),
            "number": spaces.Box(-5, 5, (), np.float64),
            "line": spaces.Box(0, 9, (4,), np.int64),
            "grid": spaces.Box(0, 9, (2, 3), np.int32),
            "icon": spaces.Box(0, 255, (8, 8, 3), np.uint8),
            "frames": spaces.Box(0, 255, (2, 40, 50, 3), np.uint8),
            "past": spaces.Dict({"said": UnicodeText(50), "pair": spaces.Tuple((spaces.Discrete(3), UnicodeText(9)))}),
        }
    )

    def __init__(self, env):
        gym.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.observation_space = spaces.Dict({**env.observation_space.spaces, **self.PARTS.spaces})

    def observation(self, observation):
        return {**observation, **self.PARTS.sample()}


CHECKED = {
    "discrete": make,
    "joint": lambda: make(JointDiscrete),
    "every part": lambda: make(observation=OBSERVATIONS),
    "computer": lambda: make(action="computer", observation=OBSERVATIONS),
    "more parts": lambda: make(More),
}


@pytest.mark.parametrize("made", CHECKED.values(), ids=CHECKED)
def test_both_checkers_have_nothing_to_say(made):
    env = made()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
        warnings.filterwarnings("ignore", ".*is different from the unwrapped version.*")  # it is a wrapper, yes
        gymnasium_check_env(env)
    env.close()


def test_the_parts_have_the_names_and_shapes_that_others_rely_on():
    env = make(observation=("elements", "instruction", "feedback", "a11y", "terminal"), ngrams=32)
    shapes = {name: space.shape for name, space in env.observation_space.spaces.items()}
    a = env.arguments
    assert shapes == {
        "instruction": (32,), "feedback": (32,), "a11y": (32,), "terminal": (32,),
        "elements": (8 * F,), "element_texts": (8 * 32,), "vocabulary": (a * 32,), "vocabulary_kinds": (a * 2,),
    }  # fmt: skip
    assert all(space.dtype == np.float32 for space in env.observation_space.spaces.values())
    assert env.element_features == FEATURES and F == 5 + len(STATE_BITS) + ROLE_COLUMNS
    env.close()


def test_elements_and_texts_say_what_is_on_the_screen(env):
    env.reset(seed=0)
    observation = env.step([0, 0, 0])[0]
    rows = observation["elements"].reshape(8, F)
    shown = list(env.desktop.elements)
    assert rows[:, 0].tolist() == [1] * len(shown) + [0] * (8 - len(shown))
    assert not rows[len(shown) :].any()
    texts = observation["element_texts"].reshape(8, 64)
    for row, text, element in zip(rows, texts, shown, strict=False):
        place = (element.x / 160, element.y / 120, element.width / 160, element.height / 120)
        np.testing.assert_allclose(row[1:5], place, rtol=1e-6)
        assert {
            name for name, value in zip(FEATURES, row, strict=True) if value and name in STATE_BITS
        } == element.states
        assert np.flatnonzero(row[-ROLE_COLUMNS:]).tolist() == [role_column(element.role)]
        np.testing.assert_array_equal(text, hashed(f"{element.name} {element.text}", 64))
    assert not texts[len(shown) :].any()


def test_common_roles_have_a_column_each():
    roles = (
        "push button", "toggle button", "check box", "radio button", "menu item", "combo box", "page tab", "table cell",
        "list item", "tree item", "text", "entry", "spin button", "label", "frame", "terminal", "menu", "filler",
    )  # fmt: skip
    assert len({role_column(role) for role in roles}) == len(roles)


def test_elements_past_the_screen_and_past_the_rows_are_cut():
    table = np.array([[-50, 10, 400, 20, 0, 0, -1, -1], [1, 1, 1, 1, 0, 0, -1, -1]], np.int32)
    elements = Elements(table, [("label", "x" * 300, "y", ""), ("label", "b", "", "")])
    features = element_features(elements, 1, SIZE)
    assert features.shape == (1, F) and features[0, 1] == 0 and features[0, 3] == 1
    np.testing.assert_array_equal(element_texts(elements, 1, 64)[0], hashed("x" * 200, 64))
    assert not element_features(NO_ELEMENTS, 3, SIZE).any()


def test_texts_are_hashed_and_the_vocabulary_is_the_tasks(env):
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observation["instruction"], hashed(env.desktop.task.instruction, 64))
    words = env.desktop.observer.vocabulary
    assert 3 < len(words.texts) < env.arguments and set(words.kinds) == {"word", "key"}
    texts = observation["vocabulary"].reshape(-1, 64)
    kinds = observation["vocabulary_kinds"].reshape(-1, 2)
    for k, (text, kind) in enumerate(zip(words.texts, words.kinds, strict=True)):
        np.testing.assert_array_equal(texts[k], hashed(text, 64))
        assert kinds[k].tolist() == [float(kind == "word"), float(kind == "key")]
    assert not texts[len(words.texts) :].any() and not kinds[len(words.texts) :].any()


def test_the_vocabulary_follows_the_task(env):
    first = env.reset(seed=0)[0]["vocabulary"]
    first[:] = 9  # what is handed out is not shared
    again = env.reset(seed=0)[0]["vocabulary"]
    assert np.abs(again).max() <= 1
    env.reset(options={"task": "fake/copy#5"})
    assert env.desktop.observer.vocabulary.texts  # drawn anew: its order goes by the task's id
    now = env.step([0, 0, 0])[0]["vocabulary"].reshape(-1, 64)
    np.testing.assert_array_equal(now[0], hashed(env.desktop.observer.vocabulary.texts[0], 64))


def test_a_broken_machine_shows_no_elements(env):
    env.reset(seed=0)
    env.desktop.machine.stop()
    observation, reward, terminated, truncated, info = env.step([0, 0, 0])
    assert "fault" in info and truncated and not terminated and reward == 0
    assert observation in env.observation_space
    assert not observation["elements"].any() and not observation["element_texts"].any()
    assert observation["instruction"].any()


def test_other_parts_are_flattened_under_joined_names():
    env = make(More, observation=("screenshot",), action="discrete")
    found = env.observation_space.spaces
    assert found["screenshot"].shape == (120, 160, 3) and found["screenshot"].dtype == np.uint8
    assert found["mark"] == spaces.Discrete(5) and found["marks"] == spaces.MultiDiscrete([3, 4, 5, 6])
    assert found["bits"] == spaces.MultiBinary(6)
    assert found["number"].shape == (1,) and found["grid"].shape == (6,) and found["icon"].shape == (192,)
    assert found["line"].dtype == np.int64
    assert found["frames_0"].shape == found["frames_1"].shape == (40, 50, 3)
    assert found["past_said"].shape == found["past_pair_1"].shape == (64,) and found["past_pair_0"] == spaces.Discrete(
        3
    )
    for _ in range(5):
        assert env.reset()[0] in env.observation_space
    env.close()


def test_images_can_be_left_out():
    env = make(More, observation=("screenshot", "elements"), screenshot=False)
    assert not {"screenshot", "frames_0"} & set(env.observation_space.spaces)
    assert env.reset()[0] in env.observation_space
    env.close()
    with pytest.raises(ValueError, match="nothing of the observation"):
        make(observation=("screenshot",), action="computer", screenshot=False, inner=_Words)


class _Words(gym.ObservationWrapper):
    """Only there to be wrapped: FlatForSB3 needs a vocabulary."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = spaces.Discrete(2)

    def observation(self, observation):
        return observation


# --- errors


def test_code_is_refused_with_the_alternatives():
    with pytest.raises(ValueError, match="action='code'.*action='discrete'.*action='computer'.*'vocabulary'"):
        make(action="code")


def test_computer_needs_the_vocabulary():
    with pytest.raises(ValueError, match=r"needs the observation 'vocabulary'.*add it to observation="):
        make(action="computer", observation=("elements",))


@pytest.mark.parametrize("ngrams", [0, -1, 2.5, True, "64"])
def test_ngrams_are_checked(ngrams):
    with pytest.raises(ValueError, match="legal is a whole number from 1 up"):
        make(ngrams=ngrams)


class _Unsized(gym.ObservationWrapper):
    def __init__(self, env, name="list", space=spaces.Sequence(spaces.Discrete(2))):  # noqa: B008
        super().__init__(env)
        self.observation_space = spaces.Dict({**env.observation_space.spaces, name: space})

    def observation(self, observation):
        return observation


def test_a_part_without_a_fixed_size_is_named():
    with pytest.raises(ValueError, match="cannot flatten the observation 'list': a Sequence has no fixed size"):
        make(_Unsized)


def test_two_parts_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="would name two parts of the observation 'element_texts'"):
        make(lambda env: _Unsized(env, "element", spaces.Dict({"texts": UnicodeText(5)})))


# --- actions


def test_discrete_actions_and_masks_pass_unchanged(env):
    assert env.action_space == env.desktop.action_space
    env.reset(seed=0)
    assert is_masking_supported(Monitor(env))
    np.testing.assert_array_equal(get_action_masks(Monitor(env)), env.desktop.action_masks())
    done = env.desktop.discrete.encode([Action("done")])
    assert env.step(done)[2]


def test_joint_masks_pass_too():
    env = make(JointDiscrete)
    env.reset(seed=0)
    assert get_action_masks(env).shape == (env.action_space.n,)
    env.close()


@pytest.fixture
def computer():
    env = make(action="computer")
    env.reset(seed=0)
    yield env
    env.close()


def numbers(env, **parts):
    """A computer action as FlatForSB3's numbers: all 0 but the named parts."""
    sizes = {name: int(np.prod(space.shape)) if space.shape else 1 for name, space in _inner(env).spaces.items()}
    return [n for name, size in sizes.items() for n in parts.get(name, [0] * size)]


def _inner(env):
    return env.env.action_space


def test_a_computer_action_is_a_list_of_numbers(computer):
    assert isinstance(computer.action_space, spaces.MultiDiscrete) and computer.action_space.start.any() == 0
    word = computer.desktop.observer.vocabulary.kinds.index("word")
    verbs = list(VERBS)
    computer.step(numbers(computer, action=[verbs.index("type")], text=[word]))
    assert computer.desktop.performed == (Action("type", text=computer.desktop.observer.vocabulary.texts[word]),)
    computer.step(numbers(computer, action=[verbs.index("click")], point=[7, 9], clicks=[1], modifiers=[0, 1, 0, 0]))
    assert computer.desktop.performed == (Action("click", 7, 9, clicks=2, keys=("shift",)),)
    computer.step(numbers(computer, action=[verbs.index("scroll")], point=[7, 9], scroll=[100, 103]))
    assert computer.desktop.performed == (Action("scroll", 7, 9, dy=3),)
    computer.step(numbers(computer, action=[verbs.index("wait")], seconds=[0]))
    assert computer.desktop.performed[0].seconds == pytest.approx(0.1)


def test_any_sample_is_a_member_inside(computer):
    for _ in range(50):
        sample = computer._form.read(computer.action_space.sample(), computer.desktop.observer.vocabulary)
        assert sample in _inner(computer)
        action_from_sample(sample).check(SIZE)


def test_the_masks_of_a_computer_action_allow_the_words_only(computer):
    masks = get_action_masks(computer)
    assert masks.shape == (computer.action_space.nvec.sum(),)
    kinds = computer.desktop.observer.vocabulary.kinds
    assert (~masks).sum() == computer.arguments - kinds.count("word")
    key = kinds.index("key")
    computer.step(numbers(computer, action=[list(VERBS).index("type")], text=[key]))
    assert computer.desktop.performed == (Action("type", text=""),)


@pytest.mark.parametrize("action", [[0], [10**6] * 18, [-1] * 18, "click", None])
def test_what_is_no_member_is_an_error(computer, action):
    with pytest.raises(ActionError, match="whole numbers"):
        computer.step(action)


def test_what_is_no_member_may_be_told_in_the_feedback():
    env = make(action="computer", invalid_action="feedback")
    env.reset(seed=0)
    assert "whole numbers" in env.step([0])[4]["invalid_action"]
    env.close()


@pytest.mark.parametrize("action", [Action("click", 3, 4), {"action": "click", "x": 3, "y": 4}])
def test_other_forms_pass(computer, action):
    computer.step(action)
    assert computer.desktop.performed == (Action("click", 3, 4),)


# --- specs, vectors, training


def test_the_spec_survives_json():
    env = make(ngrams=16)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(env.spec.to_json()) == json.loads(again.spec.to_json())
    assert again.observation_space == env.observation_space and again.get_wrapper_attr("ngrams") == 16
    again.close()
    env.close()


def _flat_desktop():
    return Monitor(FlatForSB3(desktop(action="discrete", observation=LISTED)))


def test_gymnasium_vectors():
    venv = gym.vector.AsyncVectorEnv([_flat_desktop] * 2)
    observation, _ = venv.reset(seed=0)
    assert observation["elements"].shape == (2, 8 * F)
    observation, *_ = venv.step(venv.action_space.sample())
    assert observation in venv.observation_space
    venv.close()


@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_sb3_vectors_and_their_masks(kind):
    venv = kind([_flat_desktop] * 2)
    assert is_masking_supported(venv)
    observation = venv.reset()
    assert {name: part.shape[0] for name, part in observation.items()} == dict.fromkeys(
        venv.observation_space.spaces, 2
    )
    for _ in range(6):  # past the step limit of 4: the vector resets by itself
        masks = get_action_masks(venv)
        assert masks.shape == (2, venv.action_space.nvec.sum())
        observation, rewards, dones, infos = venv.step(np.array([[0, 0, 0]] * 2))
    assert np.abs(observation["vocabulary"]).max() > 0
    venv.close()


@pytest.mark.parametrize("algorithm", [PPO, MaskablePPO])
@pytest.mark.parametrize("action", ["discrete", "computer"])
def test_it_trains(algorithm, action):
    env = make(action=action, observation=("screenshot", *LISTED), ngrams=8)
    model = algorithm("MultiInputPolicy", env, n_steps=4, batch_size=4, n_epochs=1, policy_kwargs={"net_arch": [8]})
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    model.learn(8)
    assert any((one != other).any() for one, other in zip(before, model.policy.parameters(), strict=True))
    env.close()


def test_a_step_costs_little():
    env = make(max_elements=128)
    env.reset(seed=0)
    rows = np.tile(env.desktop.elements.rows[1:2], (128, 1))
    env.desktop.observer.elements = Elements(
        rows, [("push button", f"Button {k}", f"text {k}", "") for k in range(128)]
    )
    observation = {"instruction": env.desktop.task.instruction, "vocabulary": "", "elements": None}
    times = []
    for _ in range(20):
        start = time.perf_counter()
        env._observe(observation, {})
        times.append(time.perf_counter() - start)
    assert min(times) < 0.002
    env.close()


@pytest.mark.sandbox
def test_a_real_desktop_passes_the_check_and_is_described():
    made = gym.make(
        "deskgym/Science-v0", task="kalgebra/plot-2d", action="discrete", observation=OBSERVATIONS,
        screen_size=(800, 600), max_elements=128, settle={"cap_ms": 200}, discrete={"verbs": ["click", "fill"]},
    )  # fmt: skip
    env = FlatForSB3(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    shown = list(env.desktop.elements)
    assert observation["elements"].reshape(128, F)[:, 0].sum() == len(shown) > 20
    likeness = observation["element_texts"].reshape(128, 64) @ hashed("2D Graph", 64)
    assert shown[int(likeness.argmax())].name == "2D Graph"
    env.close()


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_check_accepts_computer_actions_on_a_real_desktop():
    made = gym.make(
        "deskgym/Science-v0", task="kalgebra/plot-2d", action="computer", observation=OBSERVATIONS, max_elements=128
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(FlatForSB3(made))
    made.close()
