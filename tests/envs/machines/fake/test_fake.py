"""The fake machine's screen reacts, the same way every time."""

import numpy as np
import pytest

from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.step import CodeRequest, ElementsRequest
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.fake.files import result
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.observation.elements import Elements


@pytest.fixture
def machine():
    with FakeMachine(MachineConfig(screen_size=(160, 120))) as machine:
        yield machine


def elements(machine):
    return Elements.from_reading(machine.display.perform([], elements=ElementsRequest(10)).elements)


def click(machine, element):
    x, y = element.center
    return machine.display.perform([{"t": "move", "x": x, "y": y}, {"t": "down", "b": 1}, {"t": "up", "b": 1}])


def test_a_click_presses_the_button(machine):
    before = machine.display.capture()
    assert click(machine, elements(machine)[2]).damage
    assert elements(machine)[2].name == "Pressed 1"
    assert (machine.display.capture() != before).any()


def test_keys_write_into_the_focused_field_only(machine):
    machine.display.perform([{"t": "type", "s": "lost"}])
    assert elements(machine)[1].text == ""
    click(machine, elements(machine)[1])
    machine.display.perform([{"t": "type", "s": "ab"}, {"t": "keydown", "k": "c"}, {"t": "keydown", "k": "BackSpace"}])
    assert elements(machine)[1].text == "ab" and "focused" in elements(machine)[1].states


def test_equal_input_gives_equal_frames():
    frames = []
    for _ in range(2):
        with FakeMachine(MachineConfig(screen_size=(160, 120))) as machine:
            click(machine, elements(machine)[1])
            machine.display.perform([{"t": "type", "s": "same"}])
            frames.append(machine.display.capture())
    assert np.array_equal(*frames)


def test_code_is_read_but_not_executed(machine):
    x, y = elements(machine)[1].center
    code = f"import os\npyautogui.click({x}, {y})\npyautogui.write('hi')\nprint('done')\nos.mkdir('/deskgym-never')"
    answer = machine.display.perform([], code=CodeRequest(code)).code
    assert answer.stdout == "done\n" and answer.status == 0
    assert elements(machine)[1].text == "hi"
    assert machine.display.perform([], code=CodeRequest("1 +")).code.status == 1


def test_programs_can_be_added(machine):
    machine.programs["six-times"] = lambda call: result(str(6 * int(call.argv[1])))
    assert machine.run(["six-times", "7"]).stdout == b"42"
    assert "six-times" not in FakeMachine().programs


def test_methods_can_be_added(machine):
    with pytest.raises(GuestCallError):
        machine.guest.call("tree")
    machine.guest.methods["tree"] = lambda **params: {"params": params}
    assert machine.guest.call("tree", pid=3) == {"params": {"pid": 3}}
