"""What clients can set of an X server's keyboards, pointers and outputs, beyond the core protocol's requests."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from Xlib import X, error
from Xlib.ext import randr, xinput
from Xlib.protocol import rq

_XKB, _CORE_KEYBOARD = "XKEYBOARD", 0x100
_LONGEST = 256
"""Of a property's value, in units of 4 bytes."""


def _reply_of(name: str) -> tuple[Any, ...]:
    """What each reply of XKEYBOARD begins with."""
    return rq.ReplyCode(), rq.Card8(name), rq.Card16("sequence_number"), rq.ReplyLength()


class _UseExtension(rq.ReplyRequest):  # type: ignore[misc]
    """XkbUseExtension: python-xlib has no requests of XKEYBOARD."""

    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(0), rq.RequestLength(), rq.Card16("major"), rq.Card16("minor"))
    _reply = rq.Struct(*_reply_of("supported"), rq.FixedBinary("rest", 24))


class _GetControls(rq.ReplyRequest):  # type: ignore[misc]
    """XkbGetControls: repeating, slow, bouncing, sticky and mouse keys, with their times."""

    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(6), rq.RequestLength(), rq.Card16("device"), rq.Pad(2))
    _reply = rq.Struct(*_reply_of("device"), rq.FixedBinary("controls", 84))


def settings(x: Any, root: Any) -> dict[str, Any]:
    """XKEYBOARD's controls, the properties of input devices with their values, and the outputs' names of properties.

    Args:
        x: a python-xlib display.
        root: its screen's root window.
    """
    found: dict[str, Any] = {}
    extension = x.query_extension(_XKB)
    if extension is not None and extension.present:
        opcode = extension.major_opcode
        _UseExtension(display=x.display, opcode=opcode, major=1, minor=0)
        found["controls"] = _GetControls(display=x.display, opcode=opcode, device=_CORE_KEYBOARD).controls
    for device in x.xinput_query_device(xinput.AllDevices).devices:
        for atom in x.xinput_list_device_properties(device.deviceid).atoms:
            with suppress(error.XError):
                value = x.xinput_get_device_property(device.deviceid, atom, X.AnyPropertyType, 0, _LONGEST)
                found[f"device {device.deviceid} {x.get_atom_name(atom)}"] = (value.type, str(value.value))
    for output in randr.get_screen_resources(root).outputs:
        atoms = x.xrandr_list_output_properties(output).atoms
        found[f"output {output}"] = sorted(x.get_atom_name(atom) for atom in atoms)
    return found
