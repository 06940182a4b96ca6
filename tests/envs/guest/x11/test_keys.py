import pytest

from deskgym.envs.guest.x11.keyboard import typeable
from deskgym.envs.guest.x11.keys import KEYS, is_key, keysym


def test_every_name_of_pyautogui_means_a_key():
    names = (
        "enter esc tab space backspace del pgup pagedown ctrl shiftright altleft winleft apps f1 f24 num0 up".split()
    )
    assert all(is_key(name) for name in names)
    assert all(is_key(name) and is_key(name.upper()) for name in KEYS)


@pytest.mark.parametrize(
    ("name", "symbol"),
    [("a", 0x61), ("A", 0x41), ("é", 0xE9), ("€", 0x010020AC), ("😀", 0x0101F600), ("Return", 0xFF0D), ("\n", 0xFF0D)],
)
def test_names_and_characters_have_their_keysyms(name, symbol):
    assert keysym(name) == symbol


@pytest.mark.parametrize("name", ["", "nonsense", "\0", "ctrl+c", "a" * 50, None, 3])
def test_other_things_are_no_keys(name):
    assert not is_key(name)


def test_controls_and_surrogates_cannot_be_typed():
    assert all(typeable(c) for c in "aß😀\n\t ")
    assert not any(typeable(c) for c in "\0\x7f\x85\ud800")
