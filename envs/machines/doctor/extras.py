"""The extras of this package, such as ``deskgym[rl]``: what they ask for, and what of it is missing."""

from __future__ import annotations

import re
from importlib import metadata

_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([\w, .-]+)\])?\s*([^;]*?)\s*(?:;\s*(.*))?\Z")


def requirements(extra: str) -> list[str]:
    """What an extra of this package asks for, such as ``"pandas>=2.2"``; extras of its own that it names are unfolded.

    An installation from before that extra knows nothing of it; then it is [].
    """
    found = []
    for text in metadata.requires("deskgym") or ():
        name, extras, version, marker = _REQUIREMENT.match(text).groups()  # type: ignore[union-attr]
        if re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker or "") is None:
            continue
        if name == "deskgym":
            found += [one for inner in (extras or "").split(",") for one in requirements(inner.strip())]
        else:
            found.append(name + version)
    return found


def missing_of(extra: str) -> list[str]:
    """The requirements of an extra that are not installed for this interpreter."""
    return [text for text in requirements(extra) if not _is_installed(distribution(text))]


def distribution(requirement: str) -> str:
    """The name in a requirement such as ``"pandas>=2.2"``."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
