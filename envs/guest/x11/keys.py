"""Key names, for host and guest: pyautogui's, xdotool's, X's own keysym names, and single characters."""

from __future__ import annotations

_NAMES = {
    "enter": "Return", "return": "Return", "tab": "Tab", "space": "space", "spacebar": "space",
    "backspace": "BackSpace", "delete": "Delete", "del": "Delete", "insert": "Insert", "ins": "Insert",
    "esc": "Escape", "escape": "Escape", "home": "Home", "end": "End", "help": "Help", "select": "Select",
    "pageup": "Page_Up", "pgup": "Page_Up", "page_up": "Page_Up", "prior": "Page_Up",
    "pagedown": "Page_Down", "pgdn": "Page_Down", "page_down": "Page_Down", "next": "Page_Down",
    "left": "Left", "right": "Right", "up": "Up", "down": "Down",
    "arrowleft": "Left", "arrowright": "Right", "arrowup": "Up", "arrowdown": "Down",
    "shift": "Shift_L", "shiftleft": "Shift_L", "shiftright": "Shift_R",
    "ctrl": "Control_L", "control": "Control_L", "ctrlleft": "Control_L", "ctrlright": "Control_R",
    "alt": "Alt_L", "altleft": "Alt_L", "altright": "Alt_R", "option": "Alt_L", "altgr": "ISO_Level3_Shift",
    "win": "Super_L", "winleft": "Super_L", "winright": "Super_R", "super": "Super_L", "meta": "Super_L",
    "command": "Super_L", "cmd": "Super_L", "apps": "Menu", "menu": "Menu",
    "capslock": "Caps_Lock", "numlock": "Num_Lock", "scrolllock": "Scroll_Lock",
    "pause": "Pause", "break": "Pause", "print": "Print", "printscreen": "Print", "prtsc": "Print",
    "prtscr": "Print", "prntscrn": "Print", "execute": "Execute",
    "multiply": "KP_Multiply", "add": "KP_Add", "separator": "KP_Separator", "subtract": "KP_Subtract",
    "decimal": "KP_Decimal", "divide": "KP_Divide", "numpadenter": "KP_Enter",
    "plus": "plus", "minus": "minus", "comma": "comma", "period": "period", "slash": "slash",
    "volumeup": "XF86AudioRaiseVolume", "volumedown": "XF86AudioLowerVolume", "volumemute": "XF86AudioMute",
    "browserback": "XF86Back", "browserforward": "XF86Forward", "browserrefresh": "XF86Refresh",
    **{f"f{n}": f"F{n}" for n in range(1, 25)},
    **{f"num{n}": f"KP_{n}" for n in range(10)},
    **{f"numpad{n}": f"KP_{n}" for n in range(10)},
}  # fmt: skip

_CONTROLS = {"\n": "Return", "\r": "Return", "\t": "Tab", "\b": "BackSpace", "\x1b": "Escape", "\x7f": "Delete"}

_MULTIMEDIA = {
    "XF86AudioLowerVolume": 0x1008FF11, "XF86AudioMute": 0x1008FF12, "XF86AudioRaiseVolume": 0x1008FF13,
    "XF86Back": 0x1008FF26, "XF86Forward": 0x1008FF27, "XF86Refresh": 0x1008FF29,
}  # fmt: skip

KEYS = tuple(_NAMES)
"""The names, beside single characters and X's keysym names; upper or lower case does not matter in them."""


def character_keysym(character: str) -> int:
    """X's keysym of one character (X11 protocol, appendix A)."""
    if character in _CONTROLS:
        return _x_keysym(_CONTROLS[character])
    code = ord(character)
    return code if 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xFF else 0x01000000 | code


def keysym(name: str) -> int:
    """The keysym of a key by its name, or 0 for a name that means none.

    >>> hex(keysym("enter")), hex(keysym("a")), hex(keysym("Control_L")), keysym("nonsense")
    ('0xff0d', '0x61', '0xffe3', 0)
    """
    if len(name) == 1:
        return character_keysym(name) if name.isprintable() or name in _CONTROLS else 0
    known = _NAMES.get(name.lower())
    return _x_keysym(known or name)


def is_key(name: object) -> bool:
    """Whether this names a key."""
    return isinstance(name, str) and 0 < len(name) < 40 and keysym(name) != 0


def _x_keysym(name: str) -> int:
    from Xlib import XK

    if not hasattr(XK, "XK_ISO_Level3_Shift"):
        XK.load_keysym_group("xkb")
    return _MULTIMEDIA.get(name) or XK.string_to_keysym(name) or 0
