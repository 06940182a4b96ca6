"""What a metric function of Spider2-V gets and gives, and how it reads what the agent made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.importers.spider2v.record import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 64 << 20
"""Bytes of a file that a metric reads at most."""

_ORDER = re.compile(
    r"\b(sort\w*|ascend\w*|descend\w*|alphabetical\w*|chronological\w*|order(ed)? (by|of|from)|in [\w' ]*order"
    r"|top[ -]?\w+|(highest|lowest|largest|smallest|latest|newest|oldest|most|least) first|rank(ed)? by)\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"\b(requirement|detail|introduced in|described in|README|specified in)", re.IGNORECASE)


@dataclass(frozen=True)
class Judging:
    """What a metric has beside its two values.

    Attributes:
        mode: ``"paper"`` judges as upstream does, ``"corrected"`` mends its known mistakes.
        clean_machine: gives a second machine, as new, for what must not be opened on the host, such as a DuckDB file.
        instruction: the abstract instruction, which both twins begin with; it says whether rows have an order.
    """

    mode: Mode
    clean_machine: Callable[..., Machine]
    instruction: str = ""

    @property
    def corrected(self) -> bool:
        """Whether upstream's mistakes are mended."""
        return self.mode == "corrected"

    @property
    def ordered(self) -> bool:
        """Whether rows must come in the gold's order: always as upstream judges, else where the instruction sets one.

        An instruction that is not known, or leaves details to a file, may set one.
        """
        text = self.instruction
        return not (self.corrected and text) or bool(_ORDER.search(text) or _ELSEWHERE.search(text))


Value = bytes | str | float | Path | Mapping[str, Any] | list[Any] | None
"""What a getter gives: a file's content, a text, JSON-able data, a host file of the task's; None where it is absent."""

Metric = Callable[..., tuple[float, str]]
"""``metric(result, expected, judging, **options) -> (score, what was found)``. It raises for a broken task file alone:
what an agent may have made unreadable scores 0."""


class GoldBroken(ValueError):
    """A task's own file or rule is missing, or not what its metric can use."""


def metric(function: Metric) -> Metric:
    """A metric whose result may be missing or unreadable: both score 0."""

    @wraps(function)
    def judge(result: Value, expected: Value, judging: Judging, **options: Any) -> tuple[float, str]:
        if result is None:
            return 0.0, "there is no result"
        try:
            return function(result, expected, judging, **options)
        except CheckFailed as error:
            return 0.0, str(error)
        except (RecursionError, MemoryError) as error:
            return 0.0, f"the result is too large or too deep: {type(error).__name__}"

    return judge


@contextmanager
def of_gold(what: object) -> Iterator[None]:
    """What cannot be read inside is the task's fault. Raises GoldBroken."""
    try:
        yield
    except (CheckFailed, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise GoldBroken(f"the task's {what if isinstance(what, Path) else 'rule'} is broken: {error}") from error


def content(value: Value) -> bytes:
    """A file's bytes, whether the getter gave its content or its place on the host.

    Raises:
        CheckFailed: it is none, or over the limit.
    """
    if isinstance(value, Path):
        if value.stat().st_size > LIMIT:
            raise CheckFailed(f"{value.name}: more than {LIMIT >> 20} MiB")
        return value.read_bytes()
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes):
        raise CheckFailed(f"no file but {type(value).__name__}")
    if len(value) > LIMIT:
        raise CheckFailed(f"the file has more than {LIMIT >> 20} MiB")
    return value


def text(value: Value) -> str:
    """A file's text, its line ends as on Linux. Raises CheckFailed where it is no UTF-8."""
    if isinstance(value, str):
        return value
    try:
        return content(value).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise CheckFailed(f"it is not UTF-8: {error.reason} at byte {error.start}") from None


def rules_of(expected: Value) -> Mapping[str, Any]:
    """The mapping of a rule. Raises GoldBroken."""
    if not isinstance(expected, Mapping):
        raise GoldBroken(f"the task's rule is {type(expected).__name__}, not a mapping")
    return expected


def brief(value: object, most: int = 120) -> str:
    """A value for a message."""
    shown = repr(value)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."
