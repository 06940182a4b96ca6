"""Parameters: how a seed becomes the values of an instance, and how those get into its texts.

The draw uses ``random.Random(text).random()`` only, whose sequence Python promises never to change: the same seed is
the same instance on every machine, in every version, whatever was drawn before.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import re
import string
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import UNKNOWN, CallMistakes, Convert, Mistake, bind, shown, unknown, written
from deskgym.task_suites.core.functions import formula

MAX_TRIES = 1000
"""How often a draw is repeated until its constraints hold."""
MAX_SECONDS = 5.0
"""Of this thread's processor, for all these tries."""
MAX_SIZE = 1 << 16
"""Characters and items of a value, and characters of a text with its parameters: a short file can ask for any size."""
MAX_WIDTH = 1000
"""Of a number in a text."""

Value = Any  # JSON-like data
_FIELD = re.compile(r"([A-Za-z_]\w*)((?:\[[^\[\]]+\])*)\Z")


def choice(rng: random.Random, of: list[Value]) -> Value:
    """One of a list, each as likely."""
    if not of:
        raise CallMistakes([Mistake((), "legal is a list with at least one item, got []")])
    return of[int(rng.random() * len(of))]


def integer(rng: random.Random, bounds: list[int], step: int = 1) -> int:
    """A whole number of ``low, low + step, ...`` up to ``high``, both ends included."""
    low, high = _range(bounds, step)
    return int(low + step * int(rng.random() * ((high - low) // step + 1)))


def number(rng: random.Random, bounds: list[float], step: float) -> float:
    """A decimal of ``low, low + step, ...`` up to ``high``; ``step`` also says to how many digits it is exact."""
    low, high = _range(bounds, step)
    count = int((high - low) / step + 1e-9) + 1
    return float(round(low + step * int(rng.random() * count), 12))


def _range(bounds: list[Any], step: float) -> tuple[Any, Any]:
    if UNKNOWN in bounds or step is UNKNOWN:
        return 0, 0
    if len(bounds) != 2 or bounds[0] > bounds[1]:
        raise CallMistakes([Mistake((), f"legal is [low, high] with low <= high, got {shown(bounds)}")])
    if step <= 0:
        raise CallMistakes([Mistake((), f"a step is above 0, got {step}")])
    return bounds[0], bounds[1]


DRAWS: Mapping[str, Callable[..., Value]] = {"choice": choice, "integer": integer, "number": number}
"""What draws a parameter; any other name is a registered function that derives it from those before it."""

BUILTIN: Mapping[str, Callable[..., Value]] = {**DRAWS, "formula": formula}
"""The draws, which get the random numbers, and ``formula``, which gets the parameters before it."""


@dataclass(frozen=True)
class Parameters:
    """The declared parameters of a template.

    Attributes:
        declared: name → ``{draw or function: arguments}``, in order.
        where: ``{function: arguments}`` that must all be true, else the draw is repeated.
        functions: the registered ones, by name.
        converters: for their arguments.
    """

    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    where: Sequence[Mapping[str, Any]] = ()
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    converters: Mapping[Any, Convert] = field(default_factory=dict)
    _bound: dict[tuple[str | int, ...], bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The arguments of calls that no parameter is filled into, pickled, by the calls' places: a function may change
    what it gets."""

    @property
    def drawn(self) -> tuple[str, ...]:
        """The names of those that are drawn and not derived."""
        return tuple(name for name, call in self.declared.items() if next(iter(call)) in DRAWS)

    @cached_property
    def _needed(self) -> frozenset[str]:
        """The names without which no parameter is drawn: the drawn, and those that stand in them or in ``where``."""
        found: set[str] = set()
        waiting = [*self.drawn, *_words(self.where)]
        while waiting:
            name = waiting.pop()
            if name in self.declared and name not in found:
                found.add(name)
                waiting += _words(self.declared[name])
        return frozenset(found)

    def draw(self, key: str, *, drawn_only: bool = False) -> dict[str, Value]:
        """All values, from a text that seeds the draw.

        Args:
            key: the text.
            drawn_only: leave out what is derived and decides nothing about the draw: the rest is the same without it.

        Raises:
            TaskError: the constraints did not hold in ``MAX_TRIES`` tries.
            CallMistakes: an argument does not fit, with its place below ``params`` or ``where``.
        """
        rng, end = random.Random(key), time.thread_time() + MAX_SECONDS
        for _ in range(MAX_TRIES):
            if time.thread_time() > end:
                raise TaskError(f"{key}: a draw takes more than {MAX_SECONDS:g} s: fewer or simpler params and 'where'")
            values: dict[str, Value] = {}
            for name, call in self.declared.items():
                if not drawn_only or name in self._needed:
                    values[name] = self._value(rng, call, values, ("params", name))
            if all(self._value(rng, call, values, ("where", k)) for k, call in enumerate(self.where)):
                return values
            if not self.drawn:
                break
        raise TaskError(f"{key}: the constraints in 'where' did not hold in {MAX_TRIES} tries")

    def _value(
        self,
        rng: random.Random,
        call: Mapping[str, Any],
        values: Mapping[str, Value],
        path: tuple[str | int, ...],
    ) -> Value:
        ((name, arguments),) = call.items()
        function = BUILTIN.get(name) or self.functions[name]
        scope = [rng] if name in DRAWS else [values] if name in BUILTIN else []
        try:
            if path in self._bound:
                given = pickle.loads(self._bound[path])
            else:
                given = bind(function, render(arguments, values), leading=len(scope), converters=self.converters)
                if not _has_names(arguments):
                    with suppress(pickle.PicklingError, AttributeError, TypeError):  # then it is made anew each time
                        self._bound[path] = pickle.dumps(given)
            value = function(*scope, **given)
            if _size(value, MAX_SIZE) > MAX_SIZE:
                raise ValueError(f"a value has at most {MAX_SIZE} characters and items")
            return value
        except CallMistakes as wrong:
            raise CallMistakes([mistake.under(*path, name) for mistake in wrong.mistakes]) from None
        except TaskError:
            raise
        except Exception as error:
            message = f"{name} failed with {shown(dict(values))}: {type(error).__name__}: {error}"
            raise CallMistakes([Mistake((*path, name), message)]) from error


def _words(data: Any) -> list[str]:
    """All that may be a parameter's name in the texts of a call."""
    if isinstance(data, str):
        return re.findall(r"\w+", data)
    if isinstance(data, Mapping):
        return [word for item in data.items() for part in item for word in _words(part)]
    return [word for part in data for word in _words(part)] if isinstance(data, (list, tuple)) else []


def _has_names(data: Any) -> bool:
    """Whether ``render`` makes something else of it, by the parameters' values."""
    if isinstance(data, str):
        return "{" in data or "}" in data
    if isinstance(data, Mapping):
        return any(_has_names(part) for item in data.items() for part in item)
    return isinstance(data, (list, tuple)) and any(map(_has_names, data))


def render(data: Any, params: Mapping[str, Value]) -> Any:
    """Data with every ``{name}`` in its texts replaced.

    A text that is one lone ``"{name}"`` or ``"{name[key]}"`` becomes the value itself and keeps its type. Elsewhere the
    value is written into the text, with Python's format specification if there is one (``{a:+.2f}``). A brace is
    written twice to stand for itself. Keys of mappings stay as they are.

    Raises:
        CallMistakes: a name is unknown, a specification does not fit, or a key names a parameter, with the places.

    Examples:
        >>> render({"n": "{a}", "text": "{a:+d}x to {b[lo]}"}, {"a": 3, "b": {"lo": 2.0}})
        {'n': 3, 'text': '+3x to 2'}
    """
    if isinstance(data, str):
        return _render_text(data, params)
    if isinstance(data, list):
        return _render_items(list(enumerate(data)), params, list)
    if isinstance(data, Mapping):
        return _render_items(list(data.items()), params, dict)
    return data


def _render_items(items: list[tuple[Any, Any]], params: Mapping[str, Value], kind: type) -> Any:
    made, mistakes = [], []
    for key, item in items:
        try:
            if isinstance(key, str) and "{" in key:
                _check_key(key, params)
            made.append((key, render(item, params)))
        except CallMistakes as wrong:
            mistakes += [mistake.under(key) for mistake in wrong.mistakes]
    if mistakes:
        raise CallMistakes(mistakes)
    return dict(made) if kind is dict else [item for _, item in made]


def _check_key(key: str, params: Mapping[str, Value]) -> None:
    """Raise CallMistakes where somebody meant a parameter's value to be a key."""
    named = [name for name in re.findall(r"\{(\w+)[^{}]*\}", key) if name in params]
    if named:
        why = f"parameters are not filled into keys: let {{{named[0]}}} be a part of a value, or of a parameter's"
        raise CallMistakes([Mistake((), f"the key {shown(key)}: {why}")])


def _render_text(text: str, params: Mapping[str, Value]) -> Any:
    if "{" not in text and "}" not in text:
        return text
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        raise CallMistakes([Mistake((), f"{error}; write a brace twice to mean itself")]) from None
    if len(parts) == 1 and parts[0][0] == "" and not parts[0][2] and parts[0][1] is not None:
        return _field(parts[0][1], parts[0][3], params)
    pieces: list[str] = []
    left = MAX_SIZE
    for literal, name, spec, conversion in parts:
        pieces.append(literal)
        if name is None:
            continue
        value = _field(name, conversion, params)
        if value is UNKNOWN:
            return UNKNOWN
        pieces.append(_format(name, value, spec or ""))
        left -= len(pieces[-1])
        if left < 0:
            raise CallMistakes([Mistake((), f"its parameters make the text longer than {MAX_SIZE} characters")])
    return "".join(pieces)


def _field(name: str, conversion: str | None, params: Mapping[str, Value]) -> Value:
    found = _FIELD.match(name)
    if not found or conversion:
        raise CallMistakes(
            [Mistake((), f"{{{name}}} is not legal; legal are {{name}}, {{name[key]}}, {{name:format}}")]
        )
    if found[1] not in params:
        raise CallMistakes([Mistake((), unknown("parameter", found[1], params))])
    value = params[found[1]]
    for key in re.findall(r"\[([^\[\]]+)\]", found[2]):
        if value is UNKNOWN:
            return value
        try:
            value = value[key] if isinstance(value, Mapping) else value[int(key)]
        except (KeyError, IndexError, TypeError, ValueError):
            raise CallMistakes([Mistake((), f"{{{name}}}: {shown(value)} has no part {key!r}")]) from None
    return value


def _format(name: str, value: Value, spec: str) -> str:
    if isinstance(value, (list, Mapping)) or value is None:
        raise CallMistakes([Mistake((), f"{{{name}}} is {shown(value)} and cannot be a part of a text")])
    if isinstance(value, bool):
        return "true" if value else "false"
    if not spec:
        return written(value)
    if any(int(number[:9]) > MAX_WIDTH for number in re.findall("[0-9]+", spec)):
        raise CallMistakes([Mistake((), f"{{{name}:{shown(spec)}}}: widths and digits are at most {MAX_WIDTH}")])
    try:
        return format(value, spec)
    except ValueError as error:
        raise CallMistakes([Mistake((), f"{{{name}:{spec}}} with {shown(value)}: {error}")]) from None


def _size(value: Value, most: int) -> int:
    """Its characters and items, counted up to ``most``: a value may hold another one many times over."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, (list, tuple, Mapping)):
        return 1
    size = len(value)
    for item in value.items() if isinstance(value, Mapping) else value:
        if size > most:
            break
        size += _size(item, most - size)
    return size


def split_of(template_id: str, drawn: Mapping[str, Value], shares: Mapping[str, float], salt: int = 0) -> str:
    """The split that an instance belongs to, for ever.

    The SHA-256 of the template's id, the drawn values and the salt gives a number in [0, 1); the shares, in the
    order of their names, cut [0, 1) into pieces. So the splits are disjoint by what was drawn, not by seed.

    Examples:
        >>> split_of("a/b", {"n": 3}, {"train": 0.8, "test": 0.2})
        'train'
    """
    text = json.dumps([template_id, dict(drawn), salt], sort_keys=True, ensure_ascii=True)
    point = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
    names = sorted(shares)
    for name in names:
        point -= shares[name]
        if point < 0:
            return name
    return names[-1]
