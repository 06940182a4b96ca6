"""What was asked of a model and what it said, kept beside the recording of the episode."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deskgym.agents.llm.images import Encoded, image_of, with_image
from deskgym.agents.llm.settings import IMAGE_FORMATS
from deskgym.agents.llm.spending import Usage

FILE = "model.jsonl"
"""One line for each request: ``step``, ``role`` of the agent's part that asked, its ``model`` and ``price``, ``api``,
``request``, ``response``, ``from_cache``, ``retries``, ``seconds``, and ``error`` where there was no answer. An image
is the name of a file beside it."""
AGENT = "agent.json"
"""Who plays: ``agent``, its ``options``, and the settings of its ``model``."""
IMAGES = "images"
_MILLION = 1_000_000
_NAME = re.compile(rf"{IMAGES}/[0-9a-f]{{16}}\.({'|'.join(IMAGE_FORMATS)})")


class Exchanges:
    """Writes an episode's ``model.jsonl``.

    Args:
        folder: the episode's recording.
        player: who plays, kept beside it.
    """

    def __init__(self, folder: Path, player: Mapping[str, Any]) -> None:
        self.folder = folder
        (folder / AGENT).write_text(json.dumps(player, ensure_ascii=False, indent=1), encoding="utf-8")

    def add(self, line: Mapping[str, Any]) -> None:
        """Add a line. Raises OSError where the disk does not take it."""
        text = json.dumps(self._without_images(line), ensure_ascii=False)
        with (self.folder / FILE).open("a", encoding="utf-8", errors="replace") as file:
            file.write(text + "\n")

    def _without_images(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            if (image := image_of(value)) is not None and (name := self._saved(image)):
                return with_image(value, name)
            return {name: self._without_images(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._without_images(part) for part in value]
        return value

    def _saved(self, image: Encoded) -> str:
        """The name of the file that has the image; "" where it is none."""
        try:
            content = base64.b64decode(image.data, validate=True)
        except ValueError:
            return ""
        name = f"{IMAGES}/{hashlib.blake2b(image.data.encode(), digest_size=8).hexdigest()}.{image.form}"
        path = self.folder / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        return name


def read_player(folder: Path) -> dict[str, Any]:
    """Who played an episode: what ``agent.json`` holds; {} where there is none, or a damaged one."""
    try:
        found = json.loads((folder / AGENT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_exchanges(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of an episode's ``model.jsonl``; none where it has none. A line that was cut off is passed over."""
    path = folder / FILE
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                yield found


def spent(line: Mapping[str, Any]) -> tuple[Usage, float, float | None]:
    """Tokens, seconds and dollars of a line; dollars are None where no price is known, or nothing was paid."""
    seconds, counted = float(line.get("seconds") or 0), line.get("usage")
    if not isinstance(counted, Mapping):  # nothing was sent, or the service does not count
        return Usage(), seconds, None
    usage, price = Usage.of(counted), line.get("price")
    if not price or line.get("from_cache"):
        return usage, seconds, None
    return usage, seconds, (usage.prompt * price[0] + usage.answer * price[1]) / _MILLION


def named_image(part: Mapping[str, Any]) -> str:
    """The name that stands in a kept request where an image was; "" where there is none."""
    found: Any = part.get("image_url", part.get("source"))
    if isinstance(found, Mapping):
        found = found.get("url", found.get("data"))
    return found if isinstance(found, str) else ""


def image_path(folder: Path, name: Any) -> Path | None:
    """The file of an image that a kept request names; None for what is no such name, or is not there."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return None
    path = folder / name
    return path if path.is_file() and not path.is_symlink() else None
