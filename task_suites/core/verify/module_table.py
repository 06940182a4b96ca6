"""What the names in one of our modules mean, and the symbols that it defines."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from deskgym.task_suites.core.verify.data_symbols import data_key
from deskgym.task_suites.core.verify.file_paths import FilePaths
from deskgym.task_suites.core.verify.modules import module_at, module_path
from deskgym.task_suites.core.verify.names import Finds, Found
from deskgym.task_suites.core.verify.normal_form import is_type_checking, normal_form
from deskgym.task_suites.core.verify.symbol import Symbol

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.symbols import Index

PROGRAMS = "deskgym.task_suites.programs"
_PLAIN_BASES = frozenset(
    ("object", "ABC", "Protocol", "Generic", "NamedTuple", "Enum", "StrEnum", "IntEnum", "Exception", "Mapping")
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class ModuleTable:
    """A module's names. Implements ``Names`` for what lies outside its functions."""

    def __init__(self, index: Index, name: str, path: Path) -> None:
        self.index, self.name, self.file = index, name, path
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_text())
        self.bound: dict[str, list[ast.stmt]] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.loose: list[ast.stmt] = []
        self._add(tree.body)
        self.foreign = _private_of_others(tree)
        self.paths = FilePaths(path, self.imported, self.bound, self._paths_of)

    def _add(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for name, target in self._imported(node):
                    self.imported[name] = target
                    self.bound.setdefault(name, []).append(node)
                continue
            if isinstance(node, ast.If) and is_type_checking(node.test):
                self._add(node.body)
                self._add(node.orelse)
                continue
            names = _bound_by(node)
            for name in names:
                self.bound.setdefault(name, []).append(node)
                self.imported.pop(name, None)
            if not names and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                self.loose.append(node)

    def _imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, tuple[str, str]]]:
        """What an import binds: names, with module and the name in it ("" for the module itself)."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    alias.asname or alias.name.partition(".")[0],
                    (
                        alias.name if alias.asname else alias.name.partition(".")[0],
                        "",
                    ),
                )
            return
        package = self.package.rsplit(".", node.level - 1)[0] if node.level else ""
        module = ".".join(part for part in (package, node.module) if part)
        for alias in node.names:
            yield alias.asname or alias.name, (module, alias.name)

    # Names

    def find(self, name: str, attributes: list[str]) -> Found:
        """What a name means in this module."""
        if name in self.imported:
            return self.find_import(*self.imported[name], attributes)
        if name in self.bound:
            return self._own(name)
        if hasattr(builtins, name):
            kind = getattr(builtins, name)
            return Found(text=name, is_error=isinstance(kind, type) and issubclass(kind, BaseException))
        return Found(text=name)

    def imports(self, node: ast.Import | ast.ImportFrom) -> Mapping[str, Finds]:
        """What an import within a function binds."""
        return {name: _Imported(self, target) for name, target in self._imported(node)}

    def method(self, name: str) -> str:
        """None: this is no class."""
        return ""

    def dotted(self, text: str) -> str:
        """The key of what a text names."""
        return self.index.key_of_text(text)

    def program(self, name: str) -> str:
        """The key of a program of ours."""
        module = f"{PROGRAMS}.{name}"
        return f"{module}:PROGRAM" if self.index.module(module) else ""

    def data(self, path: Path) -> str:
        """The key of the data at a path: of our modules and packages these, of a file in a folder below the folder."""
        if path.suffix == ".py" and path.is_file() and (module := module_at(path)) and self.index.module(module):
            return f"{module}:*"
        below = path.relative_to(self.file.parent).parts if path.is_relative_to(self.file.parent) else ()
        if len(below) > 1 and not (self.file.parent / below[0] / "__init__.py").exists():
            path = self.file.parent / below[0]
        if len(below) == 1 and path.is_dir() and self.index.module(f"{self.package}.{below[0]}"):
            return f"{self.package}.{below[0]}:**"
        return data_key(path) if path.exists() else ""

    def path(self, node: ast.expr) -> Path | None:
        """The path that an expression made of ``__file__`` means."""
        return self.paths.path(node)

    def _paths_of(self, module: str) -> FilePaths | None:
        table = self.index.module(module)
        return table.paths if table is not None else None

    # symbols

    def _own(self, name: str) -> Found:
        node = self.bound[name][0]
        is_text = isinstance(node, _FUNCTIONS) and node.returns is not None and ast.unparse(node.returns) == "str"
        return Found(f"{self.name}:{name}", is_error=_is_error(self, node), is_text=is_text)

    def find_import(self, module: str, name: str, attributes: list[str]) -> Found:
        """What ``from module import name`` (or ``import module``) means, with the attributes behind it."""
        inner = f"{module}.{name}" if name else module
        if not name or ((_ours(inner) or self.index.follows(inner)) and module_path(inner)):
            return self._in_module(inner, attributes)
        table = self.index.module(module)
        if table is not None:
            return table.find(name, attributes)
        if _ours(module):
            return _outside(module, name)
        return Found(text=inner, is_error=name.endswith("Error"))

    def _in_module(self, module: str, attributes: list[str]) -> Found:
        if not _ours(module) and not self.index.follows(module):
            return Found(text=module)
        if not attributes:
            return Found(f"{module}:*") if self.index.module(module) else Found(text="module")
        inner = f"{module}.{attributes[0]}"
        if module_path(inner):
            found = self._in_module(inner, attributes[1:])
            return Found(found.key, found.text, found.used + 1, found.is_error, found.is_text)
        table = self.index.module(module)
        if table is None:
            found = _outside(module, attributes[0])
        elif attributes[0] in table.bound:
            found = table.find(attributes[0], attributes[1:])
        else:
            return Found(f"{module}:*")
        return Found(found.key, found.text, found.used + 1, found.is_error, found.is_text)

    def is_function(self, name: str) -> bool:
        """Whether a name is a function's, or ``Class.method``."""
        first, dot, _ = name.partition(".")
        return bool(dot) or any(isinstance(node, _FUNCTIONS) for node in self.bound.get(first, ()))

    def symbol(self, name: str) -> Symbol:
        """A symbol of this module."""
        if name == "**":
            return Symbol(f"{self.name}:**", "package", (*self._modules_below(), data_key(self.file.parent)))
        if name == "*":
            keys = [f"{self.name}:{each}" for each in self.bound if each not in self.imported]
            return Symbol(f"{self.name}:*", "module", (*keys, f"{self.name}:"))
        if name == "":
            form = normal_form(self.loose, self)
            return Symbol(f"{self.name}:", form.text, form.references, form.names)
        first, dot, method = name.partition(".")
        nodes = self.bound[first]
        (node,) = nodes if len(nodes) == 1 else (None,)
        if isinstance(node, ast.ClassDef):
            return self._method(node, method) if dot else self._class(node)
        form = normal_form(nodes, self)
        text = form.text if node is not None and not _several(node) else f"{first} of {form.text}"
        return Symbol(f"{self.name}:{name}", text, self._with_loose(form.references), form.names)

    def _modules_below(self) -> Iterator[str]:
        """The keys of all modules of this package, as what loads it by its name may use any."""
        for path in sorted(self.file.parent.rglob("*.py")):
            parts = path.relative_to(self.file.parent).with_suffix("").parts
            name = ".".join((self.name, *(part for part in parts if part != "__init__")))
            if self.index.module(name) is not None and module_path(name) == path:
                yield f"{name}:*"

    def _class(self, node: ast.ClassDef) -> Symbol:
        methods = [each for each in node.body if isinstance(each, _FUNCTIONS)]
        body = [each for each in node.body if not isinstance(each, _FUNCTIONS)]
        bare = ast.ClassDef(node.name, node.bases, node.keywords, body, node.decorator_list)
        form = normal_form([bare], self, keep_locals=True)
        keys = {each.name: f"{self.name}:{node.name}.{each.name}" for each in methods}
        every = any(not self._is_plain(base) for base in node.bases)
        return Symbol(f"{self.name}:{node.name}", form.text, self._with_loose(form.references), form.names, keys, every)

    def _is_plain(self, base: ast.expr) -> bool:
        """Whether a base class is ours, or one that calls no methods of its own accord."""
        base = base.value if isinstance(base, ast.Subscript) else base
        name = ast.unparse(base)
        if name.rpartition(".")[2] in _PLAIN_BASES or name.endswith("Error"):
            return True
        first, *rest = name.split(".")
        return bool(self.find(first, rest).key)

    def _method(self, node: ast.ClassDef, name: str) -> Symbol:
        nodes: list[ast.stmt] = [each for each in node.body if isinstance(each, _FUNCTIONS) and each.name == name]
        form = normal_form(nodes, _InClass(self, node))
        told = "" if self.is_private(name) else f"{name} "
        return Symbol(f"{self.name}:{node.name}.{name}", f"{told}{form.text}", form.references, form.names)

    def is_private(self, name: str) -> bool:
        """Whether only its class calls a method by this name."""
        return name.startswith("_") and not name.startswith("__") and name not in self.foreign

    def _with_loose(self, references: tuple[str, ...]) -> tuple[str, ...]:
        return (*references, f"{self.name}:") if self.loose else references


class _Imported:
    """What a name means that an import within a function binds."""

    def __init__(self, module: ModuleTable, target: tuple[str, str]) -> None:
        self._module, self._target = module, target

    def find(self, name: str, attributes: list[str]) -> Found:
        """What was imported."""
        return self._module.find_import(*self._target, attributes)


class _InClass:
    """The names in a class's method: those of the module, and private methods of the class."""

    def __init__(self, module: ModuleTable, node: ast.ClassDef) -> None:
        self.find, self.imports, self.dotted = module.find, module.imports, module.dotted
        self.program, self.path, self.data = module.program, module.path, module.data
        self._prefix = f"{module.name}:{node.name}"
        self._methods = {
            each.name for each in node.body if isinstance(each, _FUNCTIONS) and module.is_private(each.name)
        }

    def method(self, name: str) -> str:
        """The key of a private method."""
        return f"{self._prefix}.{name}" if name in self._methods else ""


def _ours(module: str) -> bool:
    return module == "deskgym" or module.startswith("deskgym.")


@cache
def _signatures(module: str) -> dict[str, ast.stmt]:
    """The functions and classes of a module that is not followed."""
    path = module_path(module)
    body = ast.parse(path.read_text()).body if path is not None else []
    return {node.name: node for node in body if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}


def _outside(module: str, name: str) -> Found:
    """What a name of ours means that is not followed: the name alone counts."""
    node = _signatures(module).get(name)
    is_text = isinstance(node, _FUNCTIONS) and node.returns is not None and ast.unparse(node.returns) == "str"
    is_error = isinstance(node, ast.ClassDef) and (name.endswith("Error") or module.endswith("errors"))
    return Found(text=name, is_error=is_error, is_text=is_text)


def _is_error(module: ModuleTable, node: ast.stmt) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    bases = [ast.unparse(base).split(".") for base in node.bases]
    return any(
        base[-1] == "Exception" or base[-1].endswith("Error") or module.find(base[0], base[1:]).is_error
        for base in bases
        if base[-1] != node.name
    )


def _bound_by(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With, ast.If, ast.Try, ast.While)):
        found = [
            name.id for name in ast.walk(node) if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load)
        ]
        found += [each.name for each in ast.walk(node) if isinstance(each, (*_FUNCTIONS, ast.ClassDef))]
        for each in ast.walk(node):
            if isinstance(each, (ast.Import, ast.ImportFrom)):
                found += [alias.asname or alias.name.partition(".")[0] for alias in each.names]
        return list(dict.fromkeys(found))
    return []


def _several(node: ast.stmt) -> bool:
    """Whether a statement binds several names, or a name in parts: then the name tells which is meant."""
    return len(_bound_by(node)) > 1


def _private_of_others(tree: ast.AST) -> frozenset[str]:
    """The private attributes that something other than ``self`` or ``cls`` is asked for."""
    return frozenset(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    )
