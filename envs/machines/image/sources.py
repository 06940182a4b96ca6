"""Which Debian mirror an image is built from when its recipe names none: the one that this computer uses itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ARCHIVE_KEYRING = "debian-archive-keyring"
APT = Path("/etc/apt")

_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)")


def host_sources(suite: str, apt: Path = APT) -> list[str]:
    """This computer's apt sources of Debian's ``suite`` and its updates, as lines for sources.list.

    Empty where this computer is not of that suite. Other archives' sources are left out: those with another key, and
    those without the component ``main``.
    """
    suites = (suite, f"{suite}-updates", f"{suite}-security")
    lines: list[str] = []
    for options, uri, name, components in _sources(apt):
        signed_by = re.search(r"signed-by=(\S+)", options)
        if name not in suites or "main" not in components or (signed_by and ARCHIVE_KEYRING not in signed_by[1]):
            continue
        lines.append(f"deb {uri} {name} {' '.join(components)}")
    lines = list(dict.fromkeys(lines))
    return lines if any(line.split()[2] == suite for line in lines) else []


def _sources(apt: Path) -> Iterator[tuple[str, str, str, list[str]]]:
    """Options, URI, suite and components of each source."""
    for path in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError):
            continue
        if path.suffix == ".list":
            for line in text.splitlines():
                if found := _ONE_LINE.match(line.partition("#")[0].strip()):
                    yield found["options"] or "", found["uri"], found["suite"], found["components"].split()
        elif path.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", text):
                yield from _stanza(stanza)


def _stanza(text: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """The sources of one deb822 stanza, see sources.list(5)."""
    unfolded = re.sub(r"\n[ \t]+", " ", "\n".join(line for line in text.splitlines() if line[:1] != "#"))
    fields = {key.strip().lower(): value.split() for key, _, value in (x.partition(":") for x in unfolded.splitlines())}
    if "deb" not in fields.get("types", []) or fields.get("enabled", ["yes"])[0].lower() in ("no", "false"):
        return
    options = f"signed-by={fields['signed-by'][0]}" if fields.get("signed-by") else ""
    for uri in fields.get("uris", []):
        for suite in fields.get("suites", []):
            yield options, uri, suite, fields.get("components", [])
