"""Reads XML, packed by xz or gzip or not: a program of its own, see ``limited``.

Standard input is the file, standard output JSON: ``{"elements": [[parent, tag, attributes, text, tail], ...]}`` in the
order of the document, where parent is the number of an element before, or -1; or ``{"unreadable": why}``.
"""

from __future__ import annotations

import json
import lzma
import sys
import zlib
from typing import Any

from defusedxml.ElementTree import fromstring

UNPACKED = 8 << 20  # bytes of the text
MAX_ELEMENTS = 50_000
MEMORY = 64 << 20  # bytes that xz may take


def packed_xml(data: bytes) -> dict[str, Any]:
    """All elements. Raises ValueError and what the parsers raise."""
    if data.startswith(b"\xfd7zXZ"):
        data = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY).decompress(data, UNPACKED + 1)
    elif data.startswith(b"\x1f\x8b"):
        data = zlib.decompressobj(31).decompress(data, UNPACKED + 1)
    if len(data) > UNPACKED:
        raise ValueError(f"its text has more than {UNPACKED >> 20} MiB")
    found: list[list[Any]] = []
    todo = [(-1, fromstring(data))]
    while todo:
        parent, node = todo.pop()
        if len(found) == MAX_ELEMENTS:
            raise ValueError(f"it has more than {MAX_ELEMENTS:,} elements")
        todo += [(len(found), child) for child in reversed(node)]
        found.append([parent, node.tag, node.attrib, node.text or "", node.tail or ""])
    return {"elements": found}


if __name__ == "__main__":
    content = sys.stdin.buffer.read()
    try:
        answer = packed_xml(content)
    except Exception as error:
        answer = {"unreadable": f"{type(error).__name__}: {error}"[:1000]}
    json.dump(answer, sys.stdout)
