"""Interprets the lambda strings of the benchmarks' task files without ``eval``.

The text is parsed, every node of it is checked against a small language when the task is loaded, and a call
walks the tree with a budget of steps and sizes. It reaches nothing outside the tables of
``lambda_language.py``.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from deskgym.task_suites.importers.lambda_evaluator import (
    BINARY,
    COMPARE,
    NODES,
    UNARY,
    Closure,
    Evaluator,
    dotted,
)
from deskgym.task_suites.importers.lambda_language import (
    CONSTANTS,
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    Budget,
    ErrorKind,
    LambdaError,
    Limits,
    imported_functions,
)

__all__ = ["Lambda", "LambdaError", "Limits", "compile_lambda"]

_OPERATORS = {ast.And, ast.Or, *UNARY, *BINARY, *COMPARE}
_STRUCTURE = {ast.Load, ast.Store, ast.arguments, ast.arg, ast.comprehension, ast.keyword}
_METHOD_NAMES = {name for methods in METHODS.values() for name in methods}
_IMPORTED = imported_functions(datetime.now)


@dataclass(frozen=True)
class Lambda:
    """A checked lambda: call it with as many arguments as it has parameters.

    Two are equal when their source is. A call raises LambdaError and nothing else.

    Attributes:
        source: the text it was made from.
        where: the file and key it stands in, for messages.
        parameters: the names of its parameters.
    """

    source: str
    where: str = field(compare=False)
    parameters: tuple[str, ...] = field(compare=False)
    _node: ast.Lambda = field(compare=False, repr=False)
    _now: Callable[[], datetime] = field(compare=False, repr=False)
    _limits: Limits = field(compare=False, repr=False)

    def __call__(self, *args: Any) -> Any:
        """The lambda's value for ``args``, which are plain data: what a JSON file can hold."""
        evaluator = Evaluator(Budget(self._limits), imported_functions(self._now))
        try:
            value = Closure(evaluator, self._node, None)(*args)
            if isinstance(value, Iterator | Closure):
                raise LambdaError(f"gives a {type(value).__name__}, not plain data", "forbidden")
        except LambdaError as error:
            raise _error(self.where, self.source, str(error), error.kind) from error
        except RecursionError as error:
            raise _error(self.where, self.source, "nests too deeply", "limit") from error
        except Exception as error:
            message = f"{type(error).__name__}: {error!s:.200}"
            raise _error(self.where, self.source, message, "runtime") from error
        return value


def compile_lambda(
    source: str,
    where: str = "lambda",
    *,
    arity: int | None = None,
    now: Callable[[], datetime] = datetime.now,
    limits: Limits | None = None,
) -> Lambda:
    """Check a lambda string and make it callable.

    >>> near = compile_lambda("lambda key, value: abs(key - value) < 0.1")
    >>> near(1.05, 1)
    True

    Args:
        source: the text, such as ``"lambda dump: dump['time']['scale']"``.
        where: the file and key it stands in; every message begins with it.
        arity: how many parameters it must have; None for any number.
        now: the clock behind ``datetime.datetime.today()``.
        limits: how much one call may do.

    Raises:
        LambdaError: the text is not a lambda, or has a node, name, function or method outside the language.
    """
    limits = limits or Limits()
    if len(source) > limits.source:
        raise _error(where, source, f"has {len(source)} characters, limit {limits.source}", "limit")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _error(where, source, f"is not a Python expression: {error!s:.200}", "syntax") from error
    except (RecursionError, MemoryError) as error:
        raise _error(where, source, "nests too deeply", "limit") from error
    if not isinstance(node, ast.Lambda):
        raise _error(where, source, f"must be a lambda, is a {type(node).__name__}", "syntax")
    try:
        _check(node, limits)
    except LambdaError as error:
        raise _error(where, source, str(error), error.kind) from error
    except RecursionError as error:
        raise _error(where, source, "nests too deeply", "limit") from error
    parameters = tuple(arg.arg for arg in node.args.args)
    if arity is not None and len(parameters) != arity:
        raise _error(where, source, f"must take {arity} parameters, takes {len(parameters)}", "syntax")
    return Lambda(source, where, parameters, node, now, limits)


def _error(where: str, source: str, message: str, kind: ErrorKind) -> LambdaError:
    return LambdaError(f"{where}: {message}, in {source[:200]!r}", kind)


def _check(root: ast.Lambda, limits: Limits) -> None:
    """LambdaError on the first node that is outside the language."""
    nodes = list(_walk(root, limits.depth))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for name in bound:
        if name.startswith("__"):
            raise _forbidden(f"the name {name!r}")
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if type(node) not in NODES and type(node) not in _OPERATORS | _STRUCTURE:
            raise _forbidden(type(node).__name__)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound:
            if node.id not in FUNCTIONS:
                raise _forbidden(f"the name {node.id!r}")
            if id(node) not in called:
                raise _forbidden(f"the function {node.id!r} other than in a call")
        elif isinstance(node, ast.Call):
            _check_call(node)
        elif isinstance(node, ast.Attribute) and id(node) not in called and dotted(node) not in CONSTANTS:
            raise _forbidden(f"the attribute {node.attr!r}")
        elif isinstance(node, ast.Constant):
            _check_constant(node.value, limits)
        elif isinstance(node, ast.arguments):
            if any((node.posonlyargs, node.kwonlyargs, node.vararg, node.kwarg, node.defaults)):
                raise _forbidden("parameters other than plain ones")
        elif isinstance(node, ast.comprehension):
            _check_comprehension(node)
        elif isinstance(node, ast.Dict) and None in node.keys:
            raise _forbidden("** in a dict")


def _walk(root: ast.Lambda, depth_limit: int) -> Iterator[ast.AST]:
    """Every node, parents first; the inside of an allowed ``__import__(...)`` chain counts as one node."""
    rest: list[tuple[ast.AST, int]] = [(root, 0)]
    while rest:
        node, depth = rest.pop()
        if depth > depth_limit:
            raise LambdaError(f"nests more than {depth_limit} levels deep", "limit")
        yield node
        if isinstance(node, ast.Attribute) and dotted(node) in {*_IMPORTED, *CONSTANTS}:
            continue
        rest.extend((child, depth + 1) for child in ast.iter_child_nodes(node))


def _check_call(node: ast.Call) -> None:
    path = dotted(node.func)
    name = path or (node.func.id if isinstance(node.func, ast.Name) else "")
    if path is not None and path not in _IMPORTED:
        raise _forbidden(f"the function {path!r}")
    if path is None and isinstance(node.func, ast.Attribute) and node.func.attr not in _METHOD_NAMES:
        raise _forbidden(f"the method {node.func.attr!r}")
    if not isinstance(node.func, ast.Attribute | ast.Name | ast.Lambda):
        raise _forbidden(f"a call of {type(node.func).__name__}")
    for keyword in node.keywords:
        if keyword.arg not in KEYWORDS.get(name, ()):
            raise _forbidden(f"the keyword argument {keyword.arg or '**'!r}")


def _check_constant(value: object, limits: Limits) -> None:
    if not isinstance(value, str | int | float | None):
        raise _forbidden(f"a constant of type {type(value).__name__}")
    if isinstance(value, int):
        Budget(limits).fits_bits(value.bit_length())


def _check_comprehension(node: ast.comprehension) -> None:
    if node.is_async:
        raise _forbidden("async for")
    if not all(
        isinstance(inner, ast.Name | ast.Tuple | ast.List | ast.expr_context) for inner in ast.walk(node.target)
    ):
        raise _forbidden("a comprehension target other than names")
    if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node.iter)):
        raise _forbidden("':=' where a comprehension's items come from")


def _forbidden(what: str) -> LambdaError:
    return LambdaError(f"{what} is outside the language of task lambdas", "forbidden")
