"""A click into KAlgebra's empty log takes the log's document away: the final state is read all the same."""

from contextlib import suppress

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the environments
from deskgym.envs.actions import Action
from deskgym.envs.errors import SetupError
from deskgym.task_suites.science.kalgebra.program import KAlgebra

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def env():
    env = gym.make("deskgym/Science-v0", screen_size=(1280, 720), disable_env_checker=True)
    yield env
    env.close()


def start(env, task):
    """Reset, and click into the log."""
    env.reset(seed=3, options={"task": task})
    kalgebra = KAlgebra.find(env.unwrapped.machine)
    assert kalgebra.program.look(kalgebra.log).find_all("document web")
    x, y, width, height = kalgebra.program.look(kalgebra.log).children[0].extents
    env.step(Action("click", x=x + width // 2, y=y + height // 2))
    with suppress(SetupError):  # on a busy machine the document stays now and then: the verdict must be the same
        kalgebra.program.wait(
            "the log without its document", lambda page: not page.find_all("document web"), kalgebra.log, 1.0
        )


@pytest.mark.parametrize("task", ["kalgebra/set-variable", "kalgebra/plot-2d"])
def test_nothing_done_is_no_success_and_no_error(env, task):
    start(env, task)
    _, reward, terminated, _, info = env.step(Action("done"))
    assert terminated and reward == 0.0 and info["verdict"]["error"] is None, info["verdict"]
    assert env.unwrapped.final.reads["kalgebra.calculator"][0]["log"] == []
    assert info["timing"]["evaluate"] < 3000


@pytest.mark.parametrize("task", ["kalgebra/set-variable", "kalgebra/plot-2d"])
def test_the_oracle_is_right_after_it(env, task):
    start(env, task)
    reward = 0.0
    for action in env.unwrapped.oracle():
        _, reward, *_, info = env.step(action)
    assert reward == 1.0, info
