"""KAlgebra's view keeps a cell for a variable that is no more, and ends when it is asked for the cell's name."""

import gymnasium
import pytest

import deskgym  # noqa: F401 - registers the environments
from deskgym.envs.guest.step import CodeRequest, ElementsRequest

pytestmark = pytest.mark.sandbox

STRIPES = """
from Xlib import X, display
screen = display.Display()
root, depth = screen.screen().root, screen.screen().root_depth
pattern = root.create_pixmap(2, 2, depth)
pattern.fill_rectangle(root.create_gc(foreground=0), 0, 0, 2, 2)
pattern.fill_rectangle(root.create_gc(foreground=0xFFFFFF), 0, 0, 1, 2)
root.create_window(0, 0, 1280, 720, 0, depth, override_redirect=1, background_pixmap=pattern).map()
screen.set_close_down_mode(X.RetainPermanent)
screen.sync()
"""
"""A window over all others: what is painted where the cell was says nothing about it."""


def test_reading_a_table_after_a_removal_does_no_harm():
    env = gymnasium.make(
        "deskgym/Science-v0", task="kalgebra/remove-variable", observation=("elements",), screen_size=(1280, 720)
    )
    try:
        env.reset(seed=2)
        desktop, reward = env.unwrapped, 0.0
        removed = desktop.task.params["case"]["name"]
        for action in desktop.oracle():
            if action.verb == "done":
                desktop.machine.display.perform(
                    [], desktop.settle, code=CodeRequest(STRIPES), elements=ElementsRequest(512)
                )
            _, reward, _, _, info = env.step(action)
        assert reward == 1.0, info
        left = desktop.final.reads["kalgebra.calculator"][0]["variables"]
        assert removed not in left and "" not in left
    finally:
        env.close()
