"""Vocabulary: the words and keys that the discrete action's argument chooses from."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "key"]
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”")
_TOKEN = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d_]\w*|\S+")


@dataclass(frozen=True)
class Vocabulary:
    """What the argument's numbers stand for, in order.

    Attributes:
        texts: a text to type, or a key combination such as ``"ctrl+s"``.
        kinds: ``"word"`` or ``"key"``, one per text.
    """

    texts: Sequence[str] = ()
    kinds: Sequence[Kind] = ()

    @classmethod
    def of_task(cls, task_id: str, words: Sequence[str], keys: Sequence[str], limit: int) -> Vocabulary:
        """The task's words, in an order that tells nothing of their use, then the keys; at most ``limit`` of both.

        The order is drawn by the task's id: had a task file's first word been the right one, its place would tell.
        """
        unique = dict.fromkeys(words)
        ordered = sorted(unique, key=lambda word: (zlib.crc32(f"{task_id}\n{word}".encode()), word))
        keys = list(dict.fromkeys(keys))[:limit]
        kept = ordered[: max(0, limit - len(keys))]
        kinds: list[Kind] = ["word"] * len(kept)
        kinds += ["key"] * len(keys)
        return cls((*kept, *keys), kinds)

    def text(self) -> str:
        """One line per argument: its number, kind and text, tab-separated."""
        return "\n".join(
            f"{k}\t{kind}\t{_flat(text)}" for k, (kind, text) in enumerate(zip(self.kinds, self.texts, strict=True))
        )


def words_of(instruction: str) -> list[str]:
    """The words that an instruction itself offers: what stands in quotes or backticks, then numbers and words.

    The vocabulary of a task that names none of its own. It reads only what the agent reads, so it gives nothing away.

    Examples:
        >>> words_of('Set the variable `speed` to 42.')
        ['speed', 'Set', 'the', 'variable', 'to', '42']
    """
    quoted = ["".join(match) for match in _QUOTED.findall(instruction)]
    rest = [token.strip(".,;:!?()'\"`“”") for token in _TOKEN.findall(_QUOTED.sub(" ", instruction))]
    return list(dict.fromkeys(word for word in (*quoted, *rest) if word))


def _flat(text: str) -> str:
    return text.replace("\t", " ").replace("\n", "⏎")
