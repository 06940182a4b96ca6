"""A click into KAlgebra's empty log takes the log's document away: the final state is read all the same."""

from contextlib import suppress

import gymnasium as gym
import numpy as np
import pytest

import deskgym  # noqa: F401 - registers the environments
from deskgym.envs.action.actions import Action
from deskgym.envs.errors import SetupError
from deskgym.envs.observation.accessible_program import Node
from deskgym.task_suites.programs.kalgebra import state
from deskgym.task_suites.programs.kalgebra.program import KAlgebra


class Screen:
    """A display, and the machine that it belongs to."""

    slowness = 1.0

    def __init__(self, *colors):
        self.display, self.pixels = self, np.zeros((40, 60, 3), np.uint8)
        self.pixels[:20], self.pixels[20:] = colors

    def capture(self):
        return self.pixels


def page(*children):
    def node(role, *below, name=""):
        return Node("", role, name, "", "", "", frozenset(), (5, 5, 50, 30), list(below))

    links = [node("link", name=name) for name in children]
    return node("filler", node("filler", *([node("document web", node("paragraph", *links))] if links else [])))


def test_a_blank_view_without_document_is_an_empty_log_after_a_while(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(state.time, "monotonic", lambda: now[0])
    screen = Screen(255, 255)
    read = state._LogReader(screen)
    with pytest.raises(LookupError):
        read(page())
    now[0] += 0.2
    screen.pixels[10, 10] = 0  # it is being painted: the time begins anew
    with pytest.raises(LookupError):
        read(page())
    screen.pixels[10, 10] = 255
    now[0] += 0.2
    with pytest.raises(LookupError):
        read(page())
    now[0] += 0.35
    assert read(page()) == ([],)


def test_a_view_that_shows_something_is_never_an_empty_log(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(state.time, "monotonic", lambda: now[0])
    read = state._LogReader(Screen(255, 0))
    for _ in range(5):
        now[0] += 1
        with pytest.raises(LookupError):
            read(page())
    assert read(page("1+1", "2")) == ([{"input": "1+1", "result": "2"}],)


@pytest.fixture(scope="module")
def env():
    env = gym.make("deskgym/Science-v0", screen_size=(1280, 720), disable_env_checker=True)
    yield env
    env.close()


def start(env, task):
    """Reset, and click into the log, until its document goes."""
    for _ in range(6):
        env.reset(seed=3, options={"task": task})
        kalgebra = KAlgebra.find(env.unwrapped.machine)
        assert kalgebra.program.look(kalgebra.log).find_all("document web")
        x, y, width, height = kalgebra.program.look(kalgebra.log).children[0].extents
        env.step(Action("click", x=x + width // 2, y=y + height // 2))
        with suppress(SetupError):
            return kalgebra.program.wait(
                "the log without its document", lambda page: not page.find_all("document web"), kalgebra.log, 3.0
            )
    pytest.fail("the document stayed six times")


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.alone  # beside others the document often stays
@pytest.mark.parametrize("task", ["kalgebra/set-variable", "kalgebra/plot-2d"])
def test_nothing_done_is_no_success_and_no_error(env, task):
    start(env, task)
    _, reward, terminated, _, info = env.step(Action("done"))
    assert terminated and reward == 0.0 and info["verdict"]["error"] is None, info["verdict"]
    assert env.unwrapped.final.reads["kalgebra.calculator"][0]["log"] == []
    assert info["timing"]["evaluate"] < 3000


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.alone  # beside others the document often stays
@pytest.mark.parametrize("task", ["kalgebra/set-variable", "kalgebra/plot-2d"])
def test_the_oracle_is_right_after_it(env, task):
    start(env, task)
    reward = 0.0
    for action in env.unwrapped.oracle():
        _, reward, *_, info = env.step(action)
    assert reward == 1.0, info
