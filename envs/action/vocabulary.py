"""Vocabulary: the words and keys that the discrete action's argument chooses from."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deskgym.envs.action.actions import is_combination
from deskgym.envs.episode import TaskLike
from deskgym.envs.errors import TaskError

Kind = Literal["word", "key"]
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”")
_PUNCTUATION = ".,;:!?…'\"`“”"


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
    def of_task(
        cls, task: TaskLike, keys: Sequence[str], limit: int, kinds: Sequence[str] = ("word", "key")
    ) -> Vocabulary:
        """The task's words, in an order that tells nothing of their use, then the keys; at most ``limit`` of both.

        The order is drawn by the task's id: had a task file's first word been the right one, its place would tell.
        What the task itself names is always kept; ``keys`` and the instruction's words take the room that is left.

        Args:
            task: its ``vocabulary`` and ``keys``; without a vocabulary, the words of its instruction.
            keys: further keys.
            limit: how many words and keys there may be.
            kinds: those that can be used at all; others would only take up room.

        Raises:
            TaskError: the task names more than ``limit`` words and keys, or a key that there is not.
        """
        words = list(dict.fromkeys(task.vocabulary)) if "word" in kinds else []
        own_keys = list(dict.fromkeys(task.keys)) if "key" in kinds else []
        for key in own_keys:
            if not is_combination(key):
                raise TaskError(f"task {task.id}: {key!r} is no key; legal are such as 'f5' and 'ctrl+s'")
        if len(words) + len(own_keys) > limit:
            raise TaskError(
                f"task {task.id}: its vocabulary has {len(words)} words and {len(own_keys)} keys, more than "
                f"max_arguments={limit}; make the env with discrete={{'max_arguments': {len(words) + len(own_keys)}}}"
            )
        all_keys = list(dict.fromkeys((*own_keys, *(keys if "key" in kinds else ()))))[: limit - len(words)]
        if "word" in kinds and not words:
            words = words_of(task.instruction)[: limit - len(all_keys)]
        words.sort(key=lambda word: (zlib.crc32(f"{task.id}\n{word}".encode()), word))
        made: list[Kind] = ["word"] * len(words)
        made += ["key"] * len(all_keys)
        return cls((*words, *all_keys), made)

    def text(self) -> str:
        """One line per argument: its number, kind and text, tab-separated."""
        return "\n".join(
            f"{k}\t{kind}\t{_flat(text)}" for k, (kind, text) in enumerate(zip(self.kinds, self.texts, strict=True))
        )


def words_of(instruction: str) -> list[str]:
    """The words that an instruction itself offers: what stands in quotes or backticks, then what stands between spaces.

    Punctuation around a word is left out, and brackets that have no partner in it.

    The vocabulary of a task that names none of its own. It reads only what the agent reads, so it gives nothing away.

    Examples:
        >>> words_of('Set the variable `speed` to 42.')
        ['speed', 'Set', 'the', 'variable', 'to', '42']
    """
    quoted = ["".join(match) for match in _QUOTED.findall(instruction)]
    rest = map(_bare, _QUOTED.sub(" ", instruction).split())
    return list(dict.fromkeys(word for word in (*quoted, *rest) if word))


def _bare(token: str) -> str:
    """A token without punctuation around it."""
    word = token.strip(_PUNCTUATION)
    if word.startswith("(") and word.count("(") > word.count(")"):
        return _bare(word[1:])
    if word.endswith(")") and word.count(")") > word.count("("):
        return _bare(word[:-1])
    return word


def _flat(text: str) -> str:
    return text.replace("\t", " ").replace("\n", "⏎")
