"""How host and guest talk: framed msgpack over one stream (a Unix socket; virtio-serial for a VM).

A frame is a 4-byte big-endian length and that many bytes of msgpack. The host sends ``{"id": n, "method": name,
"params": {...}}`` and gets ``{"id": n, "result": {...}}`` or ``{"id": n, "error": {"kind": ..., "message": ...}}``,
one answer per request, in order. There is no way to make the other side evaluate anything but these methods:

==============  ====================================================================================================
method          does
==============  ====================================================================================================
hello           says who it is: ``{version, pid, python}``
run             runs a command to its end (see ``Machine.run``)
write, read     one file, in pieces of at most ``MAX_FRAME / 2`` bytes
write_many,     many small files below a folder in one frame
read_many
list, stat      what is in a folder; what a path is
desktop         starts X, the session bus, the accessibility bus and the window manager; over a Unix socket the
                answer carries the framebuffer's file descriptor (SCM_RIGHTS)
perform         events → code → settle → elements, in one round trip (``StepRequest``)
code            a code action on its own: ``{text, timeout, output_limit}`` → ``{stdout, stderr, status, timed_out}``
elements        the accessible elements, fast: rows in ``ELEMENT_COLUMNS`` and their texts
tree            the whole accessible tree of one program, hidden parts included: for evaluators and hooks
act             changes one accessible element; ``table`` reads the cells of one, ``document``
                the attributes of one, such as a page's URL
launch          starts a program and waits for its window or its accessible root
launched        the processes of a launched program; ``ask_socket`` and ``ask_bus`` talk to it and to nobody else
last_words      the end of what a launched program wrote
windows         the top-level windows; ``activate`` and ``close`` act on one; ``wait_window`` waits for one, or its end
kernel_open     opens a kernel, in which cells keep their variables; ``kernel_run`` runs one, ``kernel_ask`` asks for
                what it holds, ``kernel_put`` and ``kernel_get`` move files, ``kernel_close`` leaves nothing behind,
                ``kernel_warm`` loads the libraries ahead
relay           leads ports of 127.0.0.1 to a companion, over a descriptor that comes with the request
companion_...   in a companion: starts, watches and stops the programs of a service (``start``, ``state``, ``stop``),
                gives connections to it (``link``, ``quiet``), keeps its data (``freeze``, ``roll_back``,
                ``fingerprint``), and asks it (``query``, ``execute``, ``http``)
wait_change     waits until something on the screen has changed that no answer has told of
release         lets go of every key and button that is held
==============  ====================================================================================================
"""

from __future__ import annotations

import struct
from typing import Any

import msgpack

VERSION = 1
MAX_FRAME = 16 << 20
MAX_VALUES = 1 << 21
"""In one message; an entry of a map counts as two. A frame of empty maps would fill 1.2 GB of memory, this many 0.2."""

HEADER = struct.Struct(">I")

ELEMENT_COLUMNS = ("x", "y", "width", "height", "role", "states", "parent", "window")
"""Columns of an element's row, int32: extents in screen pixels, AT-SPI's role number, ``STATE_BITS``, the row of the
nearest ancestor that has a row (or -1), and the row of its window's element (or -1)."""

STATE_BITS = (
    "active", "armed", "busy", "checked", "collapsed", "editable", "enabled", "expandable", "expanded", "focusable",
    "focused", "horizontal", "modal", "multi_line", "multiselectable", "pressed", "resizable", "selectable", "selected",
    "sensitive", "showing", "single_line", "vertical", "visible", "indeterminate", "required", "has_popup", "read_only",
)  # fmt: skip
"""AT-SPI state names, by bit: bit k of ``states`` is ``STATE_BITS[k]``."""


def pack(message: dict[str, Any]) -> bytes:
    """One message as a frame.

    Raises:
        ValueError: it is larger than ``MAX_FRAME`` bytes.
    """
    body: bytes = msgpack.packb(message, use_bin_type=True)
    if len(body) > MAX_FRAME:
        raise ValueError(f"a message of {len(body)} bytes is over the limit of {MAX_FRAME}")
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> Any:
    """The message in a frame's body.

    Raises:
        ValueError: it is none, or has more than ``MAX_VALUES`` values.
    """
    left = MAX_VALUES

    def count(values: Any) -> Any:
        nonlocal left
        left -= 1 + len(values) * (1 if type(values) is list else 2)
        if left < 0:
            raise ValueError(f"a message of more than {MAX_VALUES} values")
        return values

    return msgpack.unpackb(
        body,
        raw=False,
        strict_map_key=True,
        list_hook=count,
        object_hook=count,
        max_array_len=MAX_VALUES,
        max_map_len=MAX_VALUES // 2,
    )


def unpack_flat(body: bytes) -> dict[str, Any]:
    """The message in a frame's body, a dict of plain values: millions of empty lists would fill the memory.

    Raises:
        ValueError: it is something else.
    """
    message = msgpack.unpackb(
        body, raw=False, max_array_len=0, max_map_len=16, max_ext_len=0, object_pairs_hook=_flat_dict
    )
    if not isinstance(message, dict):
        raise ValueError(f"a {type(message).__name__} where a dict should be")
    return message


def _flat_dict(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    if not all(isinstance(key, str) and not isinstance(value, dict | list) for key, value in pairs):
        raise ValueError("a dict with something else than plain values in it")
    return dict(pairs)
