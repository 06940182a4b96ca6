"""Following Python code in the order in which it runs, to see which functions of a module it calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MODULE = "the module"
"""What a name stands for that is the module itself."""
_PASSIVE = {"print", "repr", "str", "type", "help", "len", "id", "callable", "isinstance", "hasattr", "dir", "vars"}
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_LOOPS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


@dataclass(frozen=True)
class LibraryFunction:
    """A function of the module: what a name may stand for."""

    name: str


class Reader:
    """Follows code in the order in which it runs.

    What a name stands for is ``MODULE``, a ``LibraryFunction`` of it, the tree of a function, lambda or class, or None.

    Attributes:
        found: the names of the module's functions that were called so far.
        entered: the ids of the trees of functions that were followed so far.
    """

    def __init__(self, module: str, functions: frozenset[str]) -> None:
        self.module = module
        self.functions = functions
        self.found: set[str] = set()
        self.entered: set[int] = set()

    def read(self, code: str, names: dict[str, Any]) -> None:
        """Follow a code from the top; one that is not Python does nothing."""
        try:
            tree = ast.parse(code)
            self.block(tree.body, names)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return

    def block(self, body: Sequence[ast.stmt], names: dict[str, Any]) -> None:
        """Follow statements up to one after which nothing runs."""
        for statement in body:
            self.statement(statement, names)
            if isinstance(statement, _ENDS):
                return

    def statement(self, node: ast.stmt, names: dict[str, Any]) -> None:
        """Follow one statement."""
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name] = MODULE if one.name == self.module else None
        elif isinstance(node, ast.ImportFrom):
            self.imported(node, names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.defined(node, names)
        elif isinstance(node, ast.If):
            self.branches(node, names)
        elif isinstance(node, ast.While):
            self.expression(node.test, names)
            self.block([] if _constant(node.test) is False else node.body, names)
            self.block(node.orelse, names)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.expression(node.iter, names)
            self.bind(node.target, None, names)
            self.block([] if _constant(node.iter) is False else node.body, names)
            self.block(node.orelse, names)
        elif isinstance(node, ast.Try):
            self.attempt(node, names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            if node.value:
                self.assigned(node, node.value, names)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, (ast.Name, ast.Lambda))):
            self.children(node, names)

    def imported(self, node: ast.ImportFrom, names: dict[str, Any]) -> None:
        """Note what ``from ... import`` binds."""
        for one in node.names:
            if node.module != self.module:
                names.pop(one.asname or one.name, None)
            elif one.name == "*":
                names |= {name: LibraryFunction(name) for name in self.functions}
            else:
                names[one.asname or one.name] = LibraryFunction(one.name) if one.name in self.functions else None

    def defined(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, names: dict[str, Any]
    ) -> None:  # fmt: skip
        """Note a function or class; what is inside runs only when something calls it."""
        for decorator in node.decorator_list:
            self.expression(decorator, names)
            self.call(self.meaning(decorator, names), names)
        if isinstance(node, ast.ClassDef):
            self.block([one for one in node.body if not isinstance(one, ast.FunctionDef)], dict(names))
        else:
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default:
                    self.expression(default, names)
        names[node.name] = node

    def branches(self, node: ast.If, names: dict[str, Any]) -> None:
        """Follow the branches of an ``if`` that may be taken."""
        self.expression(node.test, names)
        always = _constant(node.test)
        left, right = dict(names), dict(names)
        if always is not False:
            self.block(node.body, left)
        if always is not True:
            self.block(node.orelse, right)
        names.clear()
        names |= left if always is True else right if always is False else {**right, **left}

    def attempt(self, node: ast.Try, names: dict[str, Any]) -> None:
        """Follow a ``try``; where nothing can fail, no handler runs."""
        self.block(node.body, names)
        harmless = all(
            isinstance(one, ast.Pass) or isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            for one in node.body
        )
        for handler in [] if harmless else node.handlers:
            self.block(handler.body, names)
        self.block(node.orelse, names)
        self.block(node.finalbody, names)

    def assigned(self, node: ast.Assign | ast.AnnAssign, value: ast.expr, names: dict[str, Any]) -> None:
        """Follow an assignment."""
        meaning = self.meaning(value, names)
        if meaning is None:
            self.expression(value, names)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                for part, source in zip(target.elts, value.elts, strict=True):
                    self.bind(part, self.meaning(source, names), names)
            else:
                self.bind(target, meaning, names)

    def bind(self, target: ast.expr, meaning: Any, names: dict[str, Any]) -> None:
        """Note what a target stands for from here on."""
        if isinstance(target, ast.Name):
            names[target.id] = meaning
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.bind(part, None, names)
        else:
            self.children(target, names)

    def expression(self, node: ast.expr, names: dict[str, Any]) -> None:
        """Follow an expression whose value is needed."""
        if isinstance(node, ast.Call):
            self.invoked(node, names)
        elif isinstance(node, ast.BoolOp):
            stop = isinstance(node.op, ast.Or)
            for part in node.values:
                self.expression(part, names)
                if _constant(part) is stop:
                    return
        elif isinstance(node, ast.IfExp):
            always = _constant(node.test)
            self.expression(node.test, names)
            for part, dead in ((node.body, False), (node.orelse, True)):
                if always is not dead:
                    self.expression(part, names)
        elif isinstance(node, _LOOPS):
            self.comprehension(node, dict(names))
        elif isinstance(node, ast.NamedExpr):
            self.expression(node.value, names)
            self.meaning(node, names)
        elif isinstance(node, ast.Name):
            if isinstance(names.get(node.id), ast.AST):
                self.call(names[node.id], names)
        elif not isinstance(node, ast.Lambda):
            self.children(node, names)

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, names: dict[str, Any]
    ) -> None:  # fmt: skip
        """Follow a comprehension, whose names are its own."""
        for generator in node.generators:
            self.expression(generator.iter, names)
            self.bind(generator.target, None, names)
            for test in generator.ifs:
                self.expression(test, names)
            if any(_constant(test) is False for test in (generator.iter, *generator.ifs)):
                return
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.expression(part, names)

    def invoked(self, node: ast.Call, names: dict[str, Any]) -> None:
        """Follow a call and what is handed to it, such as a function to apply."""
        meaning = self.meaning(node.func, names)
        if meaning is None:
            self.expression(node.func, names)
        passive = isinstance(node.func, ast.Name) and node.func.id in _PASSIVE
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            for part in _contained(argument):
                passed = self.meaning(part, names)
                if passed is None:
                    self.expression(part, names)
                elif not passive:
                    self.call(passed, names)
        self.call(meaning, names)

    def call(self, meaning: Any, names: dict[str, Any]) -> None:
        """Notes a function of the library, or goes into code that is run."""
        if isinstance(meaning, LibraryFunction):
            self.found.add(meaning.name)
        if not isinstance(meaning, ast.AST) or id(meaning) in self.entered:
            return
        self.entered.add(id(meaning))
        if isinstance(meaning, ast.ClassDef):
            for method in meaning.body:
                self.call(method if isinstance(method, ast.FunctionDef) else None, names)
        elif isinstance(meaning, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            shadowed = {argument.arg for argument in ast.walk(meaning.args) if isinstance(argument, ast.arg)}
            inner = {name: value for name, value in names.items() if name not in shadowed}
            if isinstance(meaning, ast.Lambda):
                self.expression(meaning.body, inner)
            else:
                self.block(meaning.body, inner)

    def meaning(self, node: ast.expr, names: dict[str, Any]) -> Any:
        """What an expression stands for, or None if it is an ordinary value."""
        if isinstance(node, ast.Name):
            return names.get(node.id)
        if isinstance(node, ast.Lambda):
            return node
        if isinstance(node, ast.NamedExpr):
            self.bind(node.target, self.meaning(node.value, names), names)
            return names[node.target.id]
        if isinstance(node, ast.Attribute) and self.meaning(node.value, names) == MODULE:
            return LibraryFunction(node.attr) if node.attr in self.functions else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) >= 2:
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
            if node.func.id == "getattr" and name in self.functions:
                return LibraryFunction(name) if self.meaning(node.args[0], names) == MODULE else None
        return None

    def children(self, node: ast.AST, names: dict[str, Any]) -> None:
        """Follow what is inside a node."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child, names)
            elif isinstance(child, ast.stmt):
                self.statement(child, names)
            else:
                self.children(child, names)


def _contained(node: ast.expr) -> list[ast.expr]:
    """The items of a list, tuple, set or dict literal, at any depth; of anything else itself."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [part for item in node.elts for part in _contained(item)]
    if isinstance(node, ast.Dict):
        return [part for item in (*node.keys, *node.values) if item for part in _contained(item)]
    return [node]


def _constant(node: ast.expr) -> bool | None:
    """Whether an expression is always true or always false, or None if that depends; an empty literal is false."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return bool(node.elts)
    if isinstance(node, ast.Dict):
        return bool(node.keys)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inside = _constant(node.operand)
        return None if inside is None else not inside
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return False if [ast.dump(one) for one in node.args] == [ast.dump(ast.Constant(0))] else None
    return None
