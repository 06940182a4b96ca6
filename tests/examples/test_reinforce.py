"""The REINFORCE example: its policy learns in a world of texts, and runs on the real program."""

import itertools
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from deskgym.envs.text_space import UnicodeText

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import reinforce

TABS = ("Calculator", "2D Graph", "3D Graph", "Dictionary")
WORDINGS = ("Bring the tab {} of KAlgebra to the front.", "Switch to {}.", "Open the {} tab.", "I want to see {} now.")


class TabWorld(gym.Env):
    """The tabs of KAlgebra as texts: a click on the right one and no other after it earns 1."""

    observation_space = spaces.Dict({name: UnicodeText(4096) for name in ("instruction", "a11y", "vocabulary")})
    action_space = UnicodeText(4096)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.front, self.target = self.np_random.permutation(4)[:2]
        self.wording, self.steps = WORDINGS[self.np_random.integers(4)].format(f'"{TABS[self.target]}"'), 0
        return self.observe(), {}

    def step(self, action):
        self.steps += 1
        for k, name in enumerate(TABS):
            if reinforce.meaning(action) == f"page tab {name}":
                self.front = k
        terminated, truncated = action == "DONE", self.steps == 3
        reward = float((terminated or truncated) and self.front == self.target)
        return self.observe(), reward, terminated, truncated and not terminated, {}

    def observe(self):
        rows = [("frame", "KAlgebra", ""), ("text", "", "editable,focused")]
        rows += [("page tab", name, "") for name in TABS] + [("menu item", name, "") for name in (*TABS, "Help")]
        rows += [("table cell", name, "") for name in ("pi", "3.14", "true", "1", "false", "0", "i", "e", "2.718")]
        rows += [("check box", "Full Screen", ""), ("push button", "Float", "")]
        lines = [
            f"{k}\t{role}\t{name}\t\t({10 * k}, 7)\t(9, 5)\t{states}" for k, (role, name, states) in enumerate(rows)
        ]
        words = "\n".join(f"{k}\tword\t{word}" for k, word in enumerate((TABS[self.target], "front", "tab")))
        return {
            "instruction": self.wording,
            "a11y": "\n".join(["index\trole\tname\ttext\tposition\tsize\tstates", *lines]),
            "vocabulary": words + "\n3\tkey\tctrl+a",
        }


def test_it_learns_in_a_world_of_texts():
    torch.manual_seed(0)
    args = reinforce.Args(episodes=250)
    policy = reinforce.Policy()
    envs = gym.vector.SyncVectorEnv([TabWorld] * args.envs)
    before, _ = reinforce.evaluate(envs, policy, 30, seed=5)
    rewards = reinforce.train(envs, policy, args)
    after, count = reinforce.evaluate(envs, policy, 30, seed=5)
    assert sum(rewards[:30]) <= 9 and before <= 9
    assert sum(rewards[-30:]) >= 24 and after >= 27 and count == 30


class Breaks(TabWorld):
    """It ends with the first step, each time for another reason."""

    ENDS = (
        {"fault": {"kind": "guest_lost", "message": "gone", "cause": "infrastructure"}},
        {"fault": {"kind": "guest_lost", "message": "gone", "cause": "agent"}},
        {"verdict": {"score": 0.0, "error": "the reference is gone"}},
        {"verdict": {"score": 0.0, "error": None}},
    )
    ended = 0

    def step(self, action):
        self.ended += 1
        return self.observe(), float(self.ended), True, False, self.ENDS[(self.ended - 1) % 4]


def test_what_the_policy_broke_counts():
    envs = gym.vector.SyncVectorEnv([Breaks, Breaks])
    rewards = [episode.reward for episode in itertools.islice(reinforce.play(envs, reinforce.Policy(), 0), 8)]
    assert rewards == [2.0, 2.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0]
    assert len(next(iter(reinforce.play(envs, reinforce.Policy(), 0))).steps) == 1


def test_candidates_are_programs_for_what_is_on_the_screen():
    env = TabWorld()
    observation, _ = env.reset(seed=0)
    candidates = reinforce.candidates_of(observation["a11y"], observation["vocabulary"])
    assert candidates[:2] == ["DONE", "pyautogui.click(14, 9)  # text "]
    assert sum("pyautogui.write('front\\n')" in action for action in candidates) == 1
    assert not any("ctrl+a" in action or "frame" in action for action in candidates)
    for action in candidates:
        compile(action, "action", "exec")


def test_the_loss_raises_what_was_rewarded_and_not_the_rest():
    torch.manual_seed(0)
    policy, candidates = reinforce.Policy(), ["DONE", "go()  # page tab Dictionary", "go()  # menu item Help"]
    prompt = reinforce.prompt_of("Open the Dictionary.", "", [])

    def chances():
        return policy.choice(prompt, candidates).probs.tolist()

    before = chances()
    batch = [
        reinforce.Episode([(prompt, candidates, text)], float(np.log(1 / 3)), float("Dictionary" in text))
        for text in candidates
    ]
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
    reinforce.loss_of(policy, batch, 0.0).backward()
    optimizer.step()
    after = chances()
    assert before == pytest.approx([1 / 3] * 3)
    assert after[1] > before[1] and after[0] < before[0] and after[2] < before[2]


@pytest.mark.slow
@pytest.mark.sandbox
def test_it_runs_on_the_real_program(tmp_path, capsys):
    picture = tmp_path / "curve.png"
    result = reinforce.main(
        ["--episodes", "8", "--envs", "2", "--batch", "4", "--held-out", "4", "--out", str(picture)]
    )
    assert len(result["rewards"]) == 8 and set(result["rewards"]) <= {0.0, 1.0}
    assert result["held_out"][1] == 4 and picture.stat().st_size > 1000
    assert "held out:" in capsys.readouterr().out and np.isfinite(result["seconds"])
