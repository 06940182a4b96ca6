"""Evaluates the syntax tree of a lambda that lambdas.py has checked, within a budget, without ``eval``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from deskgym.task_suites.importers.lambda_language import CONSTANTS, FUNCTIONS, METHODS, Budget, LambdaError


def dotted(node: ast.AST) -> str | None:
    """``"math.sqrt"`` for the expression ``__import__('math').sqrt``; None for any other kind of expression.

    A call without arguments inside the chain is kept: ``"datetime.datetime.today().strftime"``.
    """
    match node:
        case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(module))], keywords=[]):
            return module
        case ast.Attribute(value=owner, attr=name):
            path = dotted(owner)
            return path and f"{path}.{name}"
        case ast.Call(func=function, args=[], keywords=[]):
            path = dotted(function)
            return path and f"{path}()"
    return None


class Scope:
    """Names that expressions see: a function's own, or those of a comprehension inside it."""

    def __init__(self, names: dict[str, Any], parent: Scope | None = None, *, comprehension: bool = False) -> None:
        self.names = names
        self.parent = parent
        self.comprehension = comprehension

    def holder(self, name: str) -> dict[str, Any] | None:
        """The innermost scope's names that have ``name``."""
        if name in self.names:
            return self.names
        return self.parent.holder(name) if self.parent else None

    def assign(self, name: str, value: Any) -> None:
        """What ``name := value`` does: it binds in the enclosing function, not in a comprehension."""
        if self.comprehension and self.parent:
            self.parent.assign(name, value)
        else:
            self.names[name] = value


class Closure:
    """A lambda as a value, together with the scope in which it was written."""

    def __init__(self, evaluator: Evaluator, node: ast.Lambda, scope: Scope | None) -> None:
        self._evaluator = evaluator
        self._node = node
        self._scope = scope

    def __call__(self, *args: Any) -> Any:
        """The value of the body with the parameters bound to ``args``."""
        names = [arg.arg for arg in self._node.args.args]
        if len(args) != len(names):
            raise LambdaError(f"takes {len(names)} arguments ({', '.join(names)}), got {len(args)}")
        return self._evaluator.body(self._node.body, Scope(dict(zip(names, args, strict=True)), self._scope))


class Evaluator:
    """One call of one lambda: the budget it draws on and the imported functions it may call."""

    def __init__(
        self,
        budget: Budget,
        imported: Mapping[str, Callable[..., Any]],
    ) -> None:
        self._budget = budget
        self._imported = imported
        self._calls = 0

    def body(self, node: ast.expr, scope: Scope) -> Any:
        """The value of a lambda's body; calls inside calls are counted."""
        self._calls += 1
        if self._calls > self._budget.limits.depth:
            raise LambdaError(f"calls itself more than {self._budget.limits.depth} levels deep", "limit")
        try:
            return self.value(node, scope)
        finally:
            self._calls -= 1

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression."""
        self._budget.spend()
        return NODES[type(node)](self, node, scope)

    def _constant(self, node: ast.Constant, scope: Scope) -> Any:
        return node.value

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        names = scope.holder(node.id)
        if names is None:
            raise NameError(f"name {node.id!r} is not defined")
        return names[node.id]

    def _list(self, node: ast.List, scope: Scope) -> Any:
        return [self.value(item, scope) for item in node.elts]

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple([self.value(item, scope) for item in node.elts])

    def _dict(self, node: ast.Dict, scope: Scope) -> Any:
        made: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            assert key is not None  # ``{**x}`` is refused by the check
            name = self.value(key, scope)
            self._budget.weigh(name)
            made[name] = self.value(item, scope)
        return made

    def _if(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.value(node.body if self.value(node.test, scope) else node.orelse, scope)

    def _boolean(self, node: ast.BoolOp, scope: Scope) -> Any:
        stops_at = isinstance(node.op, ast.Or)
        result: Any = None
        for item in node.values:
            result = self.value(item, scope)
            if bool(result) is stops_at:
                break
        return result

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        return self._budget.made(UNARY[type(node.op)](self.value(node.operand, scope)))

    def _binary(self, node: ast.BinOp, scope: Scope) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        kind = type(node.op)
        self._guard(kind, left, right)
        return self._budget.made(BINARY[kind](left, right))

    def _guard(self, kind: type[ast.operator], left: Any, right: Any) -> None:
        """Refuse what would be too large before it is made."""
        budget = self._budget
        if kind is ast.Mod and isinstance(left, str):
            raise LambdaError("formats a string with %", "forbidden")
        if kind is ast.Mult:
            for some, other in ((left, right), (right, left)):
                if isinstance(some, str | list | tuple) and isinstance(other, int):
                    budget.fits(len(some) * other)
        if isinstance(left, int) and isinstance(right, int):
            if kind is ast.Mult:
                budget.fits_bits(left.bit_length() + right.bit_length() - 1)
            if kind is ast.Pow and right > 0:
                budget.fits_bits((abs(left).bit_length() - 1) * right)

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.value(node.left, scope)
        result: Any = True
        for kind, item in zip(node.ops, node.comparators, strict=True):
            right = self.value(item, scope)
            self._budget.weigh(left, right)
            if isinstance(right, str):
                self._budget.spend(len(right) // 64)
            elif isinstance(right, range) and not isinstance(left, int):
                self._budget.spend(len(right))
            result = COMPARE[type(kind)](left, right)
            if not result:
                return result
            left = right
        return result

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        owner = self.value(node.value, scope)
        index = self.value(node.slice, scope)
        if not isinstance(owner, str | list | tuple | dict | range):
            raise TypeError(f"{type(owner).__name__!r} object is not subscriptable")
        self._budget.weigh(index)
        found = owner[index]
        return self._budget.made(found) if isinstance(index, slice) else found

    def _slice(self, node: ast.Slice, scope: Scope) -> Any:
        return slice(*(part and self.value(part, scope) for part in (node.lower, node.upper, node.step)))

    def _named(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.value(node.value, scope)
        scope.assign(node.target.id, value)
        return value

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return Closure(self, node, scope)

    def _list_comprehension(self, node: ast.ListComp, scope: Scope) -> Any:
        return list(self._generate(node, scope))

    def _generate(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Iterator[Any]:
        inner = Scope({}, scope, comprehension=True)
        outermost = self.value(node.generators[0].iter, scope)

        def level(depth: int) -> Iterator[Any]:
            if depth == len(node.generators):
                yield self.value(node.elt, inner)
                return
            part = node.generators[depth]
            for item in self._budget.each(self.value(part.iter, inner) if depth else outermost):
                self._unpack(part.target, item, inner)
                if all(self.value(test, inner) for test in part.ifs):
                    yield from level(depth + 1)

        return level(0)

    def _unpack(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
            return
        assert isinstance(target, ast.Tuple | ast.List)  # the check allows no other target
        items = list(self._budget.each(value))
        if len(items) != len(target.elts):
            raise ValueError(f"cannot unpack {len(items)} values into {len(target.elts)}")
        for inner, item in zip(target.elts, items, strict=True):
            self._unpack(inner, item, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        return CONSTANTS[dotted(node) or ""]

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        function = self._callee(node.func, scope)
        args = [self.value(arg, scope) for arg in node.args]
        self._budget.spend(sum(len(arg) // 64 for arg in args if isinstance(arg, str)))
        options = {str(word.arg): self.value(word.value, scope) for word in node.keywords}
        return self._budget.made(function(*args, **options))

    def _callee(self, node: ast.expr, scope: Scope) -> Callable[..., Any]:
        path = dotted(node)
        if path is not None:
            function = self._imported[path]
            return lambda *args, **options: function(self._budget, *args, **options)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value, scope)
            method = METHODS.get(type(owner), {}).get(node.attr)
            if method is None:
                raise AttributeError(f"{type(owner).__name__!r} object has no method {node.attr!r}")
            return lambda *args: method(self._budget, owner, *args)
        if isinstance(node, ast.Name) and scope.holder(node.id) is None:
            return self._builtin(node.id)
        callee = self.value(node, scope)
        if not isinstance(callee, Closure):
            raise TypeError(f"{type(callee).__name__!r} object is not callable")
        return callee

    def _builtin(self, name: str) -> Callable[..., Any]:
        if name not in FUNCTIONS:
            raise NameError(f"name {name!r} is not defined")
        return lambda *args, **options: FUNCTIONS[name](self._budget, *args, **options)


UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
#: Every kind of expression in the language, and what evaluates it.
NODES: dict[type[ast.expr], Callable[[Evaluator, Any, Scope], Any]] = {
    ast.Attribute: Evaluator._attribute,
    ast.BinOp: Evaluator._binary,
    ast.BoolOp: Evaluator._boolean,
    ast.Call: Evaluator._call,
    ast.Compare: Evaluator._compare,
    ast.Constant: Evaluator._constant,
    ast.Dict: Evaluator._dict,
    ast.GeneratorExp: Evaluator._generate,
    ast.IfExp: Evaluator._if,
    ast.Lambda: Evaluator._lambda,
    ast.List: Evaluator._list,
    ast.ListComp: Evaluator._list_comprehension,
    ast.Name: Evaluator._name,
    ast.NamedExpr: Evaluator._named,
    ast.Slice: Evaluator._slice,
    ast.Subscript: Evaluator._subscript,
    ast.Tuple: Evaluator._tuple,
    ast.UnaryOp: Evaluator._unary,
}
