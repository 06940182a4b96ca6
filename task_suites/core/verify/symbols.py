"""Our code as symbols: functions, classes, their methods, constants and data files, each with what it refers to.

A symbol's key is ``module:name``, ``module:Class.method``, ``module:*`` for a module and ``package:**`` for a package
as a whole, ``module:`` for the statements that a module runs when it is imported, or ``data:path``. Followed are
references by name, also through imports, texts that name a module or something in one (``"package.module:name"``),
``load_program("name")`` (a program as a whole), and paths that are made of ``__file__``. A module that is used as a
value counts as a whole.

Not followed are names that are made at run time (``getattr``, registries that task files call by name): what a task
got from a registry is among its roots. A method counts where something that is reached has its name, as an attribute
or as a text, or where what is not followed may call it; where a base class is not ours, all methods count.
"""

from __future__ import annotations

import ast
import builtins
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path

from deskgym.task_suites.core.verify.modules import LEDGER, MAX_DATA, OWN_PROOFS, module_at, module_path
from deskgym.task_suites.core.verify.normal_form import Finds, Found, is_type_checking, normal_form

PROGRAMS = "deskgym.task_suites.programs"
ROUNDS = 3
"""How many references deep a digest tells which symbol is meant; all that are reached count anyway."""
_DOTTED = re.compile(r"(\w+(?:\.\w+)+)(?::(\w+))?\Z")
_PLAIN_BASES = frozenset(
    ("object", "ABC", "Protocol", "Generic", "NamedTuple", "Enum", "StrEnum", "IntEnum", "Exception", "Mapping")
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Symbol:
    """One symbol.

    Attributes:
        key: where it is now; no digest depends on it.
        text: its normal form.
        references: keys of the symbols that it refers to.
        names: by which it may call methods.
        methods: of a class: keys by name.
        all_methods: whether all of them count, whatever is called.
    """

    key: str
    text: str
    references: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    methods: Mapping[str, str] = field(default_factory=dict)
    all_methods: bool = False

    @cached_property
    def digest(self) -> str:
        """Of its own text: 4 letters."""
        return b64encode(blake2b(self.text.encode(), digest_size=3).digest(), b"-_").decode()


class Index:
    """All symbols of some packages, parsed when they are asked for.

    Args:
        packages: what is followed; of the rest of deskgym and of other libraries only the names count.
        called: names by which what is not followed may call methods.
    """

    def __init__(self, packages: Iterable[str], called: frozenset[str] = frozenset()) -> None:
        self.called = called
        self.packages = tuple(sorted(packages))
        self._modules: dict[str, _Module | None] = {}
        self._symbols: dict[str, Symbol] = {}
        self._levels: list[dict[str, bytes]] = [{} for _ in range(ROUNDS + 1)]

    def module(self, name: str) -> _Module | None:
        """A followed module; None where it is not followed or has no source."""
        if name not in self._modules:
            path = module_path(name) if self.follows(name) else None
            self._modules[name] = _Module(self, name, path) if path is not None else None
        return self._modules[name]

    def follows(self, name: str) -> bool:
        """Whether a module belongs to the packages."""
        return any(name == package or name.startswith(f"{package}.") for package in self.packages)

    def symbol(self, key: str) -> Symbol:
        """The symbol of a key."""
        if key not in self._symbols:
            self._symbols[key] = self._make(key)
        return self._symbols[key]

    def keys_of(self, module: str, name: str) -> list[str]:
        """The symbol that defines a name, such as ``Class.method`` or ``function.<locals>.inner``, and those it needs.

        Where there is no such name, the module as a whole; nothing where the module is not followed.
        """
        table = self.module(module)
        if table is None:
            return []
        first = name.partition(".")[0]
        if first not in table.bound:
            return [f"{module}:*"]
        found = table.find(first, [])
        return [found.key] if found.key else []

    def is_function(self, key: str) -> bool:
        """Whether a symbol is a function or a method."""
        module, _, name = key.partition(":")
        table = self.module(module) if not key.startswith("data:") else None
        return table is not None and table.is_function(name)

    def reach(self, roots: Iterable[str], without: tuple[str, ...] = ()) -> set[str]:
        """All symbols that those of ``roots`` lead to, themselves among them; all methods of root classes count.

        Args:
            roots: keys.
            without: the beginnings of keys that are left out.
        """
        found: set[str] = set()
        names = set(self.called)
        waiting: dict[str, list[str]] = {}
        stack = list(roots)
        whole = set(stack)
        while stack:
            key = stack.pop()
            if key in found or key.startswith(without):
                continue
            found.add(key)
            symbol = self.symbol(key)
            stack += symbol.references
            for name in symbol.names.difference(names):
                names.add(name)
                stack += waiting.pop(name, ())
            for name, method in symbol.methods.items():
                if symbol.all_methods or key in whole or name in names or name.startswith("__"):
                    stack.append(method)
                else:
                    waiting.setdefault(name, []).append(method)
        return found

    def digest(self, roots: Iterable[str], reached: Iterable[str]) -> str:
        """A digest of what some roots, in order, and all that they reach do. Names and places do not count."""
        total = blake2b(digest_size=6)
        for key in roots:
            total.update(self._level(key, ROUNDS))
        for part in sorted(self._level(key, ROUNDS) for key in reached):
            total.update(part)
        return total.hexdigest()

    def _level(self, key: str, depth: int) -> bytes:
        known = self._levels[depth]
        if key not in known:
            symbol = self.symbol(key)
            if depth == 0:
                known[key] = blake2b(symbol.text.encode(), digest_size=8).digest()
            else:
                parts = [self._level(key, depth - 1), *(self._level(each, depth - 1) for each in symbol.references)]
                known[key] = blake2b(b"".join(parts), digest_size=8).digest()
        return known[key]

    def _make(self, key: str) -> Symbol:
        if key.startswith("data:"):
            return _data(key)
        module, _, name = key.partition(":")
        table = self.module(module)
        if table is None:
            return Symbol(key, "")
        return table.symbol(name)

    def key_of_text(self, text: str) -> str:
        """The key of what a text names, such as ``"package.module:name"``, or ""."""
        dotted = _DOTTED.match(text)
        if dotted is None or not self.follows(dotted[1]):
            return ""
        table = self.module(dotted[1])
        if table is None:
            return ""
        found = table.find(dotted[2], []) if dotted[2] in table.bound else Found()
        if found.key:
            return found.key
        return f"{dotted[1]}:**" if table.file.name == "__init__.py" and not dotted[2] else f"{dotted[1]}:*"


class _Module:
    """A module's names. Implements ``Names`` for what lies outside its functions."""

    def __init__(self, index: Index, name: str, path: Path) -> None:
        self.index, self.name, self.file = index, name, path
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_text())
        self.bound: dict[str, list[ast.stmt]] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.loose: list[ast.stmt] = []
        self._add(tree.body)
        self.with_file = "__file__" in ast.dump(tree)
        self.foreign = _private_of_others(tree)
        self._paths: dict[str, Path | None] = {}

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

    def path(self, node: ast.expr) -> Path | None:
        """The path that an expression made of ``__file__`` means."""
        if isinstance(node, ast.Name):
            return self._constant_path(node.id)
        if isinstance(node, ast.Call):
            return self._called_path(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
            left = self.path(node.left)
            return left / node.right.value if left is not None and isinstance(node.right.value, str) else None
        if isinstance(node, ast.Attribute):
            if node.attr == "__file__" and isinstance(node.value, ast.Name):
                module, name = self.imported.get(node.value.id, ("", ""))
                return module_path(f"{module}.{name}" if name else module) if module else None
            if node.attr == "parent":
                inner = self.path(node.value)
                return inner.parent if inner is not None else None
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
            inner = self.path(node.value.value)
            if inner is not None and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
                return inner.parents[node.slice.value]
        return None

    def _called_path(self, node: ast.Call) -> Path | None:
        if isinstance(node.func, ast.Name) and node.func.id == "Path" and len(node.args) == 1:
            given = node.args[0]
            return self.file if isinstance(given, ast.Name) and given.id == "__file__" else self.path(given)
        if not isinstance(node.func, ast.Attribute):
            return None
        if node.func.attr not in ("resolve", "absolute", "with_name", "joinpath"):
            return None
        inner = self.path(node.func.value)
        words = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if inner is None or len(words) != len(node.args):  # what is made at run time may be any file of the folder
            return inner.parent if inner is not None and node.func.attr == "with_name" else None
        return inner.with_name(words[0]) if node.func.attr == "with_name" else inner.joinpath(*words)

    def _constant_path(self, name: str) -> Path | None:
        """The path that a constant of this module, or one that it imports, is."""
        if name not in self._paths:
            self._paths[name] = None
            module, inner = self.imported.get(name, ("", ""))
            if module:
                table = self.index.module(module) if inner else None
                self._paths[name] = table._constant_path(inner) if table is not None else None
            else:
                nodes = self.bound.get(name, [])
                if len(nodes) == 1 and isinstance(nodes[0], (ast.Assign, ast.AnnAssign)) and nodes[0].value is not None:
                    self._paths[name] = self.path(nodes[0].value)
        return self._paths[name]

    def data(self, path: Path) -> str:
        """The key of the data at a path: of a module the module, of a file in a folder below ours that folder."""
        if path.suffix == ".py" and path.is_file() and (module := module_at(path)) and self.index.module(module):
            return f"{module}:*"
        below = path.relative_to(self.file.parent).parts if path.is_relative_to(self.file.parent) else ()
        if len(below) > 1 and not (self.file.parent / below[0] / "__init__.py").exists():
            path = self.file.parent / below[0]
        return f"data:{path}" if path.exists() else ""

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
            return Symbol(f"{self.name}:**", "package", tuple(self._modules_below()))
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

    def __init__(self, module: _Module, target: tuple[str, str]) -> None:
        self._module, self._target = module, target

    def find(self, name: str, attributes: list[str]) -> Found:
        """What was imported."""
        return self._module.find_import(*self._target, attributes)


class _InClass:
    """The names in a class's method: those of the module, and private methods of the class."""

    def __init__(self, module: _Module, node: ast.ClassDef) -> None:
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


def _is_error(module: _Module, node: ast.stmt) -> bool:
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


def _data(key: str) -> Symbol:
    """A data file, or the data files of a folder. Ledgers and folders of tasks, which have proofs, are none."""
    path = Path(key.removeprefix("data:"))
    if path.is_file():
        return Symbol(key, _content(path))
    parts = [
        entry
        for entry in sorted(path.iterdir() if path.is_dir() else ())
        if entry.name not in OWN_PROOFS | {LEDGER}
        and (not (path / "__init__.py").is_file() or entry.suffix != ".py")
        and not (entry.is_dir() and (entry / "__init__.py").is_file() and (path / "__init__.py").is_file())
        and entry.suffix != ".pyc"
    ]
    return Symbol(key, "\n".join(entry.name for entry in parts), tuple(f"data:{entry}" for entry in parts))


def _content(path: Path) -> str:
    """What a data file holds; of Python the normal form; of one above 1 MiB only the size."""
    size = path.stat().st_size
    if size > MAX_DATA:
        return f"{size} bytes"
    raw = path.read_bytes()
    if path.suffix == ".py":
        try:
            return normal_form(ast.parse(raw).body, _Elsewhere(), keep_locals=True, anonymous=False).text
        except (SyntaxError, ValueError):
            pass
    return blake2b(raw, digest_size=16).hexdigest()


class _Elsewhere:
    """The names of a script that runs in a machine: they count as they stand, imports too."""

    def find(self, name: str, attributes: list[str]) -> Found:
        return Found(text=name)

    def imports(self, node: ast.Import | ast.ImportFrom) -> Mapping[str, Finds]:
        return {}

    def method(self, name: str) -> str:
        return ""

    def dotted(self, text: str) -> str:
        return ""

    def program(self, name: str) -> str:
        return ""

    def path(self, node: ast.expr) -> Path | None:
        return None

    def data(self, path: Path) -> str:
        return ""
