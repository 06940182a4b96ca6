"""The agents and run_episode, on the fake machine."""

import gymnasium
import pytest
from fake_suite import FakeSource

from deskgym.agents import Agent, NoopAgent, OracleAgent, RandomAgent, WrongAgent, make_agent, run_episode
from deskgym.agents.base import judge
from deskgym.envs.action.actions import STOPS, Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import TaskError


@pytest.fixture(params=["computer", "code"])
def env(request):
    env = DesktopEnv(FakeSource(), machine="fake", screen_size=(160, 120), action=request.param)
    yield env
    env.close()


def test_the_oracle_solves_its_task(env):
    result = run_episode(env, OracleAgent(), seed=3)
    assert (result.outcome, result.score, result.seed) == ("solved", 1.0, 3)
    assert result.task.startswith("fake/copy#") and result.steps >= 2 and result.step_ms > 0
    assert result.to_dict()["verdict"]["success"]
    assert set(result.phases) == {"reset", "agent", "steps", "evaluation"}
    assert all(seconds >= 0 for seconds in result.phases.values())
    assert sum(result.phases.values()) == pytest.approx(result.seconds)


@pytest.mark.parametrize("agent, steps", [(NoopAgent(), 1), (WrongAgent("other"), 1), (WrongAgent("done"), 2)])
def test_other_scripts_fail_and_the_result_says_why(env, agent, steps):
    result = run_episode(env, agent, seed=3)
    assert (result.outcome, result.score, result.steps) == ("failed", 0.0, steps)
    assert "number: answered" in result.message


def test_an_unknown_wrong_attempt_names_near_matches(env):
    with pytest.raises(TaskError, match="did you mean 'other'"):
        run_episode(env, WrongAgent("othr"), seed=3)


def test_random_actions_are_legal_repeatable_and_never_end_the_episode(env):
    def actions():
        agent = RandomAgent(5)
        observation, info = env.reset(seed=3)
        agent.reset(env, observation, info)
        return [agent.act(observation) for _ in range(60)]

    first = actions()
    assert first == actions()
    assert len(set(map(str, first))) > 50
    for action in first:
        parsed = env.actions.parse(action)  # raises if it is not legal
        assert not (isinstance(parsed, Action) and parsed.verb in STOPS)
    assert run_episode(env, RandomAgent(1), seed=4).steps == env.step_limit


def test_an_episode_that_is_stopped_early_has_no_score(env):
    result = run_episode(env, RandomAgent(), seed=1, max_steps=2)
    assert (result.outcome, result.score, result.steps) == ("unfinished", None, 2)


def test_a_script_agent_wants_a_desktop():
    with pytest.raises(TypeError, match="MachineEnv"):
        NoopAgent().reset(gymnasium.make("CartPole-v1"), None, {})


def test_errors_and_faults_are_not_scores():
    verdict = {"error": "check broke", "success": False, "score": 0.0, "checks": []}
    assert judge({"verdict": verdict}) == ("error", None, "check broke")
    fault = {"kind": "guest_lost", "message": "gone", "cause": "infrastructure"}
    assert judge({"fault": fault}) == ("fault", None, "guest_lost: gone")
    assert judge({"fault": fault | {"cause": "agent"}})[:2] == ("failed", 0.0)


class Quitter:
    """An agent of a user's own."""

    def reset(self, env, observation, info):
        pass

    def act(self, observation):
        return Action("fail")


class NoAgent:
    pass


def test_agents_by_name():
    for name in ("oracle", "random", "noop", "wrong:x"):
        assert isinstance(make_agent(name), Agent)
    assert isinstance(make_agent("test_agents:Quitter"), Quitter)


@pytest.mark.parametrize(
    "name, message",
    [
        ("orcle", "did you mean 'oracle'"),
        ("nosuchmodule:Agent", "no module 'nosuchmodule'"),
        ("test_agents:Missing", "Missing"),
        ("test_agents:NoAgent", "act\\(observation\\)"),
        ("wrong:", "legal are"),
    ],
)
def test_an_unknown_agent_is_a_clear_error(name, message):
    with pytest.raises(ValueError, match=message):
        make_agent(name)
