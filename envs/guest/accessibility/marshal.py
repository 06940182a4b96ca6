"""Writing method calls and reading answers in the few shapes that AT-SPI uses (D-Bus specification, "Marshaling").

Nothing here checks what it reads: a broken message ends in an exception, which the callers take as a failed call.
"""

from __future__ import annotations

from struct import Struct

HEAD = Struct("<4B3I")
_UINT = Struct("<I")
_INT = Struct("<i")
_DOUBLE = Struct("<d")
_PATH_FIELD = b"\x01\x01o\x00"
_PADDING = tuple(b"\0" * ((8 - n % 8) % 8) for n in range(8))
_ALIGN = {"s": 4, "o": 4, "i": 4, "u": 4, "b": 4, "d": 8, "x": 8, "t": 8, "y": 1, "n": 2, "q": 2, "(": 8}


def _string_field(code: int, kind: bytes, value: str) -> bytes:
    text = value.encode()
    size = bytes([len(text)]) if kind == b"g" else _UINT.pack(len(text))
    field = bytes([code, 1]) + kind + b"\0" + size + text + b"\0"
    return field + _PADDING[len(field) % 8]


def template(destination: str, interface: str, member: str, signature: str = "") -> bytes:
    """The header fields of a method call but for its path, which comes last and is all that varies."""
    fields = _string_field(6, b"s", destination) + _string_field(2, b"s", interface)
    fields += _string_field(3, b"s", member)
    return fields + _string_field(8, b"g", signature) if signature else fields


def marshal(serial: int, prepared: bytes, path: bytes, body: bytes) -> bytes:
    """A whole method call; ``body`` is marshalled already."""
    size = len(path)
    fields = len(prepared) + 9 + size
    return b"".join((
        HEAD.pack(108, 1, 2, 1, len(body), serial, fields),  # 'l'ittle endian, method call, no auto start
        prepared, _PATH_FIELD, _UINT.pack(size), path, b"\0", _PADDING[fields % 8], body,
    ))  # fmt: skip


def header_fields(data: bytes, position: int, end: int) -> dict[int, str | int]:
    """The string and uint32 fields of a message's header by code (D-Bus specification, "Header Fields")."""
    fields: dict[int, str | int] = {}
    while position < end:
        code, kind = data[position], data[position + 2]
        position += 4
        if kind == 117:  # 'u'
            fields[code] = _UINT.unpack_from(data, position)[0]
            position += 4
        elif kind == 103:  # 'g'
            size = data[position]
            fields[code] = data[position + 1 : position + 1 + size].decode()
            position += size + 2
        elif kind in (115, 111):  # 's', 'o'
            size = _UINT.unpack_from(data, position)[0]
            fields[code] = data[position + 4 : position + 4 + size].decode()
            position += size + 5
        else:
            raise ValueError(f"a header field of type {chr(kind)!r}")
        position += -position % 8
    return fields


def string_at(data: bytes, at: int) -> str:
    """The D-Bus string whose length word is at ``at``."""
    size = _UINT.unpack_from(data, at)[0]
    return data[at + 4 : at + 4 + size].decode("utf-8", "replace")


def strings(*values: str) -> bytes:
    """Marshalled string arguments."""
    body = b""
    for value in values:
        body += b"\0" * (-len(body) % 4) + _UINT.pack(len(value)) + value.encode() + b"\0"
    return body


def read_refs(data: bytes, at: int) -> list[tuple[str, bytes]]:
    """A marshalled ``a(so)``: bus names and object paths."""
    refs = []
    unpack = _UINT.unpack_from
    position = at + 8
    end = position + unpack(data, at)[0]
    while position < end:
        position += -(position - at) % 8
        size = unpack(data, position)[0]
        peer = data[position + 4 : position + 4 + size].decode()
        position += size + 5
        position += -(position - at) % 4
        size = unpack(data, position)[0]
        refs.append((peer, data[position + 4 : position + 4 + size]))
        position += size + 5
    return refs


def read_ref(data: bytes, at: int) -> tuple[str, bytes] | None:
    """A marshalled ``(so)``; None when it is AT-SPI's null object."""
    size = _UINT.unpack_from(data, at)[0]
    peer = data[at + 4 : at + 4 + size].decode()
    position = size + 5
    position = at + position + -position % 4
    size = _UINT.unpack_from(data, position)[0]
    path = data[position + 4 : position + 4 + size]
    return None if not peer or path.endswith(b"/null") else (peer, path)


def read_strings(data: bytes, at: int) -> list[str]:
    """A marshalled ``as``."""
    strings = []
    position = at + 4
    end = position + _UINT.unpack_from(data, at)[0]
    while position < end:
        position += -(position - at) % 4
        size = _UINT.unpack_from(data, position)[0]
        strings.append(data[position + 4 : position + 4 + size].decode())
        position += size + 5
    return strings


def read_variant(data: bytes, at: int, base: int) -> tuple[str | int | float | None, int]:
    """A marshalled variant of type s, i, u or d, and where it ends; alignment counts from ``base``.

    Raises:
        ValueError: it is of another type.
    """
    size = data[at]
    signature = data[at + 1 : at + 1 + size].decode()
    at += size + 2
    at += -(at - base) % _ALIGN.get(signature[:1], 4)
    if signature == "s":
        return string_at(data, at), at + 5 + int(_UINT.unpack_from(data, at)[0])
    if signature == "i":
        return _INT.unpack_from(data, at)[0], at + 4
    if signature == "u":
        return _UINT.unpack_from(data, at)[0], at + 4
    if signature == "d":
        return _DOUBLE.unpack_from(data, at)[0], at + 8
    if signature == "(so)":
        at += int(_UINT.unpack_from(data, at)[0]) + 5
        at += -(at - base) % 4
        return None, at + int(_UINT.unpack_from(data, at)[0]) + 5
    if signature == "a{ss}":
        return None, at + 4 + (-(at + 4 - base) % 8) + int(_UINT.unpack_from(data, at)[0])
    raise ValueError(f"a variant of type {signature!r}")


def read_properties(data: bytes, at: int) -> dict[str, str | int | float | None]:
    """A marshalled ``a{sv}`` with values of the types that ``read_variant`` knows."""
    found: dict[str, str | int | float | None] = {}
    position = at + 8
    end = position + int(_UINT.unpack_from(data, at)[0])
    while position < end:
        position += -(position - at) % 8
        key = string_at(data, position)
        position += 5 + int(_UINT.unpack_from(data, position)[0])
        found[key], position = read_variant(data, position, at)
    return found
