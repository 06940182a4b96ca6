"""Calls written as data: binding a task file's arguments to a Python function, with every mistake.

Hooks, checks, predicates, macros and derived parameters are all written as ``name: arguments`` and are all
plain functions with annotated parameters. This module checks such arguments against the function's own
signature.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import numbers
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

KEY = "key:"
MAX_UNKNOWN = 50
"""How many more arguments than a function has are looked at one by one, each with the legal name that is nearest."""
UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "<unknown>"})()
"""A value that is not known yet; it fits every type."""


@dataclass(frozen=True)
class Mistake:
    """What is wrong with a piece of data, and where in it.

    Attributes:
        path: keys and indices from the checked value down to the culprit. Where a key itself is wrong, the
            path ends in it and ``KEY``.
        message: what was got, and what is legal.
    """

    path: tuple[str | int, ...]
    message: str

    def under(self, *prefix: str | int) -> Mistake:
        """The same, seen from further up."""
        return Mistake((*prefix, *self.path), self.message)


class CallMistakes(ValueError):
    """The arguments do not fit the function.

    Attributes:
        mistakes: all of them.
        bound: the arguments that do fit.
    """

    def __init__(self, mistakes: Sequence[Mistake], bound: Mapping[str, Any] | None = None) -> None:
        super().__init__("; ".join(mistake.message for mistake in mistakes))
        self.mistakes = tuple(mistakes)
        self.bound = dict(bound or {})


HostFile = NewType("HostFile", Path)
"""Annotates a parameter that names a file beside the task file; the function gets its absolute path."""

Prose = NewType("Prose", str)
"""Annotates a text that somebody reads, for which a number is a mistake."""

Convert = Callable[[Any], Any]
"""Makes of data what a parameter's annotation asks for; raises CallMistakes."""


@dataclass(frozen=True)
class Call:
    """A name and its arguments, as ``{name: arguments}`` in a task file."""

    name: str
    arguments: Any

    @classmethod
    def parse(cls, data: Any, registry: Iterable[str], noun: str) -> Call:
        """Read a single-key mapping whose key is in ``registry``.

        Raises:
            CallMistakes: it is none, or the name is unknown.
        """
        if not isinstance(data, Mapping) or len(data) != 1:
            what = f"{len(data)} keys" if isinstance(data, Mapping) else shown(data)
            raise CallMistakes([Mistake((), f"a {noun} is one 'name: arguments' pair, got {what}")])
        ((name, arguments),) = data.items()
        if name not in registry:
            raise CallMistakes([Mistake((name, KEY), unknown(noun, name, registry))])
        return cls(name, arguments)


def unknown(noun: str, got: str, legal: Iterable[str]) -> str:
    """The message for a name that is not there, with near matches or else what is legal."""
    names = sorted(map(str, legal))
    if near := _near(got, names):
        return f"unknown {noun} {got!r}; did you mean {' or '.join(map(repr, near))}?"
    if len(names) > 30:
        return f"unknown {noun} {got!r}; there are {len(names)}, such as {', '.join(names[:5])}"
    return f"unknown {noun} {got!r}; legal are {', '.join(names) or 'none'}"


def _near(got: str, legal: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(str(got), list(legal), n=3, cutoff=0.6)


def written(value: str | float) -> str:
    """A number as a person writes it, without a needless ``.0``; a text as it is."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def shown(value: Any, limit: int = 120) -> str:
    """``repr(value)``, cut: values come from a hostile machine."""
    if isinstance(value, (str, bytes)) and len(value) > limit:
        return f"{value[:limit]!r}… ({len(value)} long)"
    text = " ".join(repr(value).split())  # of an array it has lines
    return text if len(text) <= limit else text[:limit] + "…"


@lru_cache(maxsize=4096)
def parameters(function: Callable[..., Any], leading: int) -> Mapping[str, inspect.Parameter]:
    """The function's parameters after its first ``leading`` ones, with their annotations resolved."""
    origin = function.func if isinstance(function, functools.partial) else function
    names = vars(sys.modules[origin.__module__])
    found = list(inspect.signature(function).parameters.values())[leading:]
    return {
        p.name.rstrip("_"): p.replace(annotation=_resolved(p.annotation, names))
        for p in found
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    """An annotation that is a text as what it names; Any where it cannot be resolved."""
    if annotation is inspect.Parameter.empty:
        return Any
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, globalns=names, include_extras=True)["it"]
    except (NameError, TypeError):  # imported for type checkers only
        return Any


def bind(
    function: Callable[..., Any],
    arguments: Any,
    *,
    leading: int = 1,
    converters: Mapping[Any, Convert] | None = None,
    noun: str = "argument",
) -> dict[str, Any]:
    """The keyword arguments for ``function``, made of data.

    A mapping is taken by name; null is no argument; anything else is the first parameter. A parameter whose
    name is a Python word ends in ``_`` (``from_``), and its data do not.

    Args:
        function: its annotations say what is legal.
        arguments: what the task file says.
        leading: how many of its parameters are given by the caller and not by the data.
        converters: how to make the values of special annotations.
        noun: what to call an argument in messages.

    Raises:
        CallMistakes: all that does not fit, and in ``bound`` what does.
    """
    legal, converters = parameters(function, leading), {} if converters is None else converters
    if arguments is UNKNOWN:
        return {}
    by_name = isinstance(arguments, Mapping) and not _is_first(arguments, legal, converters)
    if arguments is None:
        given: dict[str, Any] = {}
    elif by_name:
        given = dict(arguments)
    elif not legal:
        raise CallMistakes([Mistake((), f"it takes no {noun}s, got {shown(arguments)}")])
    else:
        given = {next(iter(legal)): arguments}
    bound: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    if len(given) > len(legal) + MAX_UNKNOWN:
        raise CallMistakes([Mistake((), f"{len(given)} {noun}s; legal are {', '.join(legal)}")])
    for name, value in given.items():
        if name not in legal:
            mistakes.append(Mistake((name, KEY), unknown(noun, name, legal)))
            continue
        try:
            bound[legal[name].name] = convert(value, legal[name].annotation, converters)
        except CallMistakes as wrong:
            mistakes += [mistake.under(*((name,) if by_name else ())) for mistake in wrong.mistakes]
    misspelt = {near for name in given if name not in legal for near in _near(name, legal)}
    for name, parameter in legal.items():
        if parameter.default is parameter.empty and name not in given and name not in misspelt:
            mistakes.append(Mistake((), f"missing {noun} {name!r}: {describe(parameter.annotation)}"))
    if mistakes:
        raise CallMistakes(mistakes, bound)
    return bound


def _is_first(
    arguments: Mapping[str, Any], legal: Mapping[str, inspect.Parameter], converters: Mapping[Any, Convert]
) -> bool:
    if not legal or not arguments or set(arguments) & set(legal):
        return False
    first = next(iter(legal.values())).annotation
    return first in converters or dataclasses.is_dataclass(first) or get_origin(first) in (dict, Mapping)


_origin: Callable[[Any], Any] = functools.cache(get_origin)


def convert(value: Any, annotation: Any, converters: Mapping[Any, Convert]) -> Any:
    """The value as the annotation asks for it; a number is taken for a text where a text is asked for.

    Raises:
        CallMistakes: it does not fit.
    """
    if value is UNKNOWN or annotation is Any:
        return value
    if annotation in converters:
        return converters[annotation](value)
    origin = _origin(annotation)
    if origin in (Union, types.UnionType):
        return _convert_union(value, get_args(annotation), converters)
    if annotation is str and _fits(value, float):
        return written(value)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return annotation(**bind(annotation, value, leading=0, converters=converters, noun="key"))
    items = get_args(annotation)
    if origin is Annotated:
        return _in_range(value, annotation)
    if origin is tuple and (listed := _listed(value)) is not None:
        if items[-1] is not Ellipsis and len(listed) != len(items):
            raise CallMistakes([Mistake((), _mismatch(value, annotation))])
        if items[-1] is Ellipsis:
            return _gather(list(enumerate(listed)), lambda item: convert(item, items[0], converters), tuple)
        pairs = list(enumerate(zip(listed, items, strict=True)))
        return _gather(pairs, lambda pair: convert(pair[0], pair[1], converters), tuple)
    if origin in (list, Sequence) and (listed := _listed(value)) is not None and items:
        if items[0] is Any:
            return list(listed)
        return _gather(list(enumerate(listed)), lambda item: convert(item, items[0], converters), list)
    if origin in (dict, Mapping) and isinstance(value, Mapping) and items:
        if items[0] is str and (odd := [key for key in value if not isinstance(key, str)]):
            raise CallMistakes([Mistake((), f"legal are keys that are texts, got {shown(odd[0])}")])
        return _gather(list(value.items()), lambda item: convert(item, items[1], converters), dict)
    if not _fits(value, annotation):
        raise CallMistakes([Mistake((), _mismatch(value, annotation))])
    return value


def _convert_union(value: Any, members: Sequence[Any], converters: Mapping[Any, Convert]) -> Any:
    if value is None and type(None) in members:
        return None
    plain = [member for member in members if member is not type(None)]
    plain.sort(key=lambda member: member is str)  # which takes numbers too
    failures: list[CallMistakes] = []
    for member in plain:
        try:
            return convert(value, member, converters)
        except CallMistakes as wrong:
            failures.append(wrong)
    if len(plain) == 1:
        raise failures[0]
    deepest = max(failures, key=lambda wrong: len(wrong.mistakes[0].path))
    if deepest.mistakes[0].path:  # one member had the right shape and something wrong inside
        raise deepest
    raise CallMistakes([Mistake((), _mismatch(value, Union[tuple(plain)]))])  # noqa: UP007


def _in_range(number: Any, annotation: Any) -> Any:
    """The number, if it lies within what its ``Annotated[int, (least, most)]`` says; a most of None is no bound."""
    kind, (least, most) = get_args(annotation)
    if _fits(number, kind) and number >= least and (most is None or number <= most):
        return number
    raise CallMistakes([Mistake((), _mismatch(number, annotation))])


def _listed(value: Any) -> Sequence[Any] | None:
    """What is a list to callers in Python, tuples and arrays among them; None for anything else."""
    if getattr(value, "ndim", 0) == 1:
        return list(value.tolist())
    return value if isinstance(value, (list, tuple)) else None


def _gather(items: list[tuple[Any, Any]], one: Callable[[Any], Any], kind: type) -> Any:
    """Convert every item and collect the mistakes of all."""
    made, mistakes = [], []
    for key, item in items:
        try:
            made.append((key, one(item)))
        except CallMistakes as wrong:
            mistakes += [mistake.under(key) for mistake in wrong.mistakes]
    if mistakes:
        raise CallMistakes(mistakes)
    return dict(made) if kind is dict else kind(value for _, value in made)


_WORDS: dict[Any, str] = {
    str: "a text", bool: "true or false", int: "a whole number", float: "a number", type(None): "null",
    list: "a list", tuple: "a list", dict: "a mapping", Sequence: "a list", Mapping: "a mapping", Any: "any value",
    HostFile: "a file name", Prose: "a text",
}  # fmt: skip


def describe(annotation: Any) -> str:
    """An annotation in words, such as "a list of (a number)"."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin is Annotated:
        least, most = arguments[1]
        return f"{describe(arguments[0])} from {least} " + ("up" if most is None else f"to {most}")
    if origin is tuple:
        count = "" if arguments[-1] is Ellipsis else f"{len(arguments)} of "
        return f"a list of {count}({describe(arguments[0])})"
    if origin in (Union, types.UnionType):
        return " or ".join(describe(member) for member in arguments if member is not type(None))
    if origin in (list, Sequence) and arguments and arguments[0] is not Any:
        return f"a list of ({describe(arguments[0])})"
    if origin in (dict, Mapping) and arguments:
        return "a mapping" if arguments[1] is Any else f"a mapping of names, each with {describe(arguments[1])}"
    return _WORDS.get(origin or annotation) or _class_name(origin or annotation)


def _class_name(annotation: Any) -> str:
    name = getattr(annotation, "__name__", "value")
    return (
        f"a {name}"
        if getattr(annotation, "__module__", "").startswith(("deskgym", "gymnasium"))
        else f"a {name.lower()}"
    )


def kind_of(value: Any) -> str:
    """A value's type in words."""
    if isinstance(value, (bool, type(None))):
        return _WORDS[type(value)]
    for known in (str, int, float, list, tuple, Mapping):
        if isinstance(value, known):
            return _WORDS[known]
    return type(value).__name__


_PLAIN = (type(None), str, bytes, numbers.Number, list, tuple, set, Mapping)


def _mismatch(value: Any, annotation: Any) -> str:
    if get_origin(annotation) is Literal and isinstance(value, str):
        return unknown("value", value, get_args(annotation))
    return f"legal is {describe(annotation)}, got {shown(value)} ({kind_of(value)})"


def _fits(value: Any, annotation: Any) -> bool:
    if get_origin(annotation) is Literal:
        return any(value == member and type(value) is type(member) for member in get_args(annotation))
    if annotation is Any:
        return True
    annotation = get_origin(annotation) or annotation
    if annotation is float:
        return (
            isinstance(value, numbers.Real)
            and not isinstance(value, bool)
            and abs(typing.cast(Any, value)) <= sys.float_info.max
        )
    if annotation is Prose:
        return isinstance(value, str)
    if annotation is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if annotation is Sequence and isinstance(value, (str, bytes)):
        return False
    if annotation is type(None):
        return value is None
    if getattr(annotation, "_is_protocol", False):  # its methods are called where they are needed
        return not isinstance(value, _PLAIN)
    if isinstance(annotation, type) and annotation is not object:
        return isinstance(value, annotation)
    return True
