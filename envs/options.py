"""Options that Python code gives: checked by the annotations of what takes them.

A number's range is in its annotation: ``Annotated[int, (1, None)]`` is a whole number from 1 up.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar, cast

import numpy as np

from deskgym.envs.errors import DeskgymError, near
from deskgym.envs.evaluation.calls import (
    KEY,
    CallMistakes,
    Convert,
    Mistake,
    bind,
    convert,
    describe,
    kind_of,
    parameters,
    shown,
)

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

P = ParamSpec("P")
T = TypeVar("T")
_SKIPPED = ("self", "settle", "pool", "discrete")  # the latter are options themselves: see from_options
_LOCALE = re.compile(r"[A-Za-z]{1,8}(_[A-Z]{2})?(\.[A-Za-z0-9-]+)?\Z")
StepLimit = Annotated[int, (1, None)]
Seconds = Annotated[float, (0.001, None)]
MemoryMb = Annotated[int, (64, 1 << 24)]
DiskMb = Annotated[int, (16, 1 << 24)]
Processes = Annotated[int, (16, 1 << 22)]
Port = Annotated[int, (1, (1 << 16) - 1)]


def check_options(
    taker: Callable[..., Any], options: object, noun: str, *, leading: int = 0, legal: Iterable[str] = ()
) -> dict[str, Any]:
    """The keyword arguments for a function or class, of a mapping that somebody gave.

    Args:
        taker: its annotations say what is legal.
        options: what was given.
        noun: what to call it in messages, such as ``"settle"``.
        leading: how many of its parameters are not options.
        legal: names that are legal besides, for the message.

    Raises:
        ValueError: all that is wrong, and what is legal.
    """
    options = {} if options is None else options
    known = parameters(taker, leading)
    names = sorted((*known, *legal))

    def unknown(name: Any) -> Mistake:
        return Mistake((), f"unknown option {name!r}; legal are {', '.join(names)}{near(name, names)}")

    if not isinstance(options, Mapping):
        raise ValueError(f"{noun}={shown(options)}; legal is None or a mapping with any of {', '.join(names)}")
    if options and not any(name in known for name in options):  # else it would be taken for the first one's value
        raise ValueError("; ".join(_said(noun, unknown(name)) for name in list(options)[:5]))
    try:
        return bind(taker, options, leading=leading, converters=_INSTANCES, noun="option")
    except CallMistakes as wrong:
        mistakes = [unknown(m.path[0]) if m.path[1:] == (KEY,) else m for m in wrong.mistakes]
        raise ValueError("; ".join(_said(noun, mistake) for mistake in mistakes)) from None


def from_options(kind: type[T], options: object, noun: str) -> T:
    """A dataclass of the options that somebody gave, or None; see ``check_options``. Raises ValueError."""
    return kind(**check_options(kind, options, noun))


def check_option(name: str, value: Any, annotation: Any) -> None:
    """Refuse a value that does not fit an annotation. Raises ValueError."""
    try:
        convert(value, annotation, _INSTANCES)
    except CallMistakes as wrong:
        raise ValueError("; ".join(_said(name, mistake) for mistake in wrong.mistakes)) from None


def plain(value: Any) -> Any:
    """A value as JSON has it: lists for tuples and arrays, texts for paths; what JSON has not stays."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


class PlainSpec:
    """Base of environments whose ``spec`` is equal to what comes back from its JSON."""

    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """What ``gymnasium.make`` was given; None where it was not called."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = None if spec is None else dataclasses.replace(spec, kwargs=plain(spec.kwargs))


class UnknownArgument(ValueError, TypeError):
    """An argument that a function does not take, or one that it misses."""


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function, or an ``__init__``, refuse arguments that do not fit its annotations, or that it does not take.

    It then raises ValueError, in one line, with what was got and what is legal.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _check_arguments(function, args, kwargs)
        return function(*args, **kwargs)

    return call


def checked_after(function: Callable[P, T]) -> Callable[P, T]:
    """The same for a function that says more exactly itself what is wrong, and starts nothing."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            result = function(*args, **kwargs)
        except (DeskgymError, ValueError):
            raise
        except Exception:
            _check_arguments(function, args, kwargs)
            raise
        _check_arguments(function, args, kwargs)
        return result

    return call


def _check_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    known, takes = parameters(function, 0), signature(function)
    try:
        for name, value in takes.bind_partial(*args, **kwargs).arguments.items():
            if name in known and name not in _SKIPPED and value is not known[name].default:
                check_option(name, value, known[name].annotation)
        takes.bind(*args, **kwargs)
    except TypeError as error:
        noun, names = function.__qualname__.removesuffix(".__init__"), [name for name in known if name != "self"]
        close = near(next((name for name in kwargs if name not in known), ""), names)
        raise UnknownArgument(f"{noun}: {error}; legal are {', '.join(names) or 'none'}{close}") from None


def check_session(locale: str | None, clock: str | None) -> None:
    """Refuse what is no locale or no time. Raises ValueError."""
    if locale is not None and not _LOCALE.match(locale):
        raise ValueError(f"locale={locale!r}; legal is a name such as 'en_US.UTF-8'")
    if clock is not None and not _is_time(clock):
        raise ValueError(f"clock={clock!r}; legal is a time such as '2024-05-01T09:00'")


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class CheckedFields:
    """Base of frozen dataclasses whose values must fit their annotations; lists become the tuples they stand for."""

    def __post_init__(self) -> None:
        """Raise ValueError for the first value that does not fit."""
        for name, parameter in parameters(cast("Callable[..., Any]", type(self)), 0).items():
            value = getattr(self, name)
            if value is parameter.default:  # most are, and Needs are made at each reset
                continue
            try:
                fit = convert(value, parameter.annotation, _INSTANCES)
            except CallMistakes as wrong:
                raise ValueError(_said(f"{type(self).__name__}.{name}", wrong.mistakes[0])) from None
            if isinstance(value, (list, tuple)):
                object.__setattr__(self, name, fit)


class _Instances(dict[Any, Convert]):
    """Converters for what Python code gives: where a dataclass is asked for, only an instance of it will do."""

    def __contains__(self, annotation: object) -> bool:
        return isinstance(annotation, type) and (dataclasses.is_dataclass(annotation) or annotation is str)

    def __getitem__(self, kind: Any) -> Convert:
        def instance(value: Any) -> Any:
            if not isinstance(value, kind):
                words = describe(kind) if kind is str else f"a {kind.__name__}"
                raise CallMistakes([Mistake((), f"legal is {words}, got {shown(value)} ({kind_of(value)})")])
            return value

        return instance


_INSTANCES = _Instances()


def _said(noun: str, mistake: Mistake) -> str:
    """``settle.quiet_ms: legal is a number from 0 up, got 'fast' (a text)``."""
    where = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in mistake.path)
    return f"{noun}{where}: {mistake.message}"
