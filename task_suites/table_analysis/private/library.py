"""Private libraries: modules that do what pandas does, under names that no policy can have learned by heart.

Tapilot-Crossing has one library, of 137 functions by its paper, that stands in public; here each seed has
its own, made for the codes of a dialogue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from deskgym.task_suites.table_analysis.private.constants import DEFAULTS, TURNS, UNUSED, clause
from deskgym.task_suites.table_analysis.private.functions import Function, documentation_of, source_of
from deskgym.task_suites.table_analysis.private.naming import Words
from deskgym.task_suites.table_analysis.private.operations import Op, operation, operations
from deskgym.task_suites.table_analysis.private.scope import Scope, parse, scope_of, words_of
from deskgym.task_suites.table_analysis.private.shapes import SELF, Match, Shape
from deskgym.task_suites.table_analysis.private.translation import Rewriter, translated


@dataclass(frozen=True)
class PrivateLibrary:
    """A library that exists for one seed.

    Attributes:
        seed: what it was drawn by.
        module: the name to import.
        alias: what translated code calls it.
        source: the module's source; it imports what it needs; ``CALLS`` are the names of functions that returned.
        documentation: for the agent: every function with its parameters, in no helpful order.
        functions: names of all functions.
        decoys: names of those that translated code never calls.
    """

    seed: int
    module: str
    alias: str
    source: str = field(repr=False)
    documentation: str = field(repr=False)
    functions: tuple[str, ...]
    decoys: tuple[str, ...] = field(repr=False)
    _by_shape: Mapping[Shape, Function] = field(repr=False)
    _scope: Scope = field(repr=False)
    _step: str = field(repr=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all functions, as a set."""
        return frozenset(self.functions)

    @property
    def listing(self) -> str:
        """Code that writes the names in ``CALLS`` to the standard output."""
        return f"__import__('os').write(1, ' '.join({self._calls}).encode())"

    @property
    def forgetting(self) -> str:
        """Code that empties ``CALLS``, as far as the module has been imported."""
        return f"{self._calls}.clear()"

    @property
    def _calls(self) -> str:
        return f"getattr(__import__('sys').modules.get({self.module!r}), 'CALLS', set())"

    def translate(self, code: str) -> str:
        """The same code over this library, with the line that imports it.

        What is outside the library stays as it is; code that uses nothing of it comes back unchanged.

        Raises:
            ValueError: it is not Python.
        """
        scope = scope_of([parse(code)], self._scope.modules)
        taken = words_of([code])
        alias = self.module if self.alias in taken else self.alias
        return translated(code, scope, self._by_shape, self.module, alias, self._free_step(taken))

    def translate_all(self, codes: Sequence[str]) -> tuple[str, ...]:
        """``translate`` of several."""
        return tuple(self.translate(code) for code in codes)

    def _free_step(self, taken: frozenset[str]) -> str:
        step = self._step
        while any(word.startswith(step + "_") for word in taken):
            step += "_x"
        return step


def make_library(seed: int, codes: Sequence[str], *, decoys: int = 12) -> PrivateLibrary:
    """The private library of a seed that covers some codes, such as those of all turns of a dialogue.

    Args:
        seed: decides all names, orders of parameters and wordings.
        codes: pandas-level Python, in the order in which it runs.
        decoys: how many functions to add that the codes do not need; half of them are look-alikes of needed ones.

    Raises:
        ValueError: a code is not Python, or ``decoys`` is below 0.

    Examples:
        >>> library = make_library(0, ["low = ages.min()"], decoys=0)
        >>> len(library.functions), library.functions[0] in library.translate("low = ages.min()")
        (1, True)
    """
    if decoys < 0:
        raise ValueError(f"decoys is {decoys}; legal is 0 or more")
    if isinstance(codes, str):
        raise ValueError("codes is one text; legal is a list of them")
    return _make(seed, tuple(codes), decoys)


@lru_cache(maxsize=64)
def _make(seed: int, codes: tuple[str, ...], decoys: int) -> PrivateLibrary:
    trees = [parse(code) for code in codes]
    scope = scope_of(trees)
    found: dict[Shape, Match] = {}

    def note(match: Match) -> None:
        found.setdefault(match.shape, match)

    for tree in trees:
        Rewriter(scope, note).visit(tree)
    words = Words(seed, words_of(codes))
    used = {shape: _function(words, shape, _by_position(found[shape])) for shape in sorted(found)}
    unused = _decoys(words, used, decoys)
    everything = words.shuffled([*used.values(), *unused])
    return PrivateLibrary(
        seed=seed,
        module=words.module,
        alias=words.alias,
        source=source_of(words.module, everything),
        documentation=documentation_of(words.module, words.alias, everything),
        functions=tuple(function.name for function in everything),
        decoys=tuple(sorted(function.name for function in unused)),
        _by_shape=used,
        _scope=scope,
        _step=words.step,
    )


def _by_position(match: Match) -> frozenset[str]:
    return frozenset(part.name for part in match.parts if part.positional)


def _function(words: Words, shape: Shape, positional: frozenset[str], near: Op | None = None) -> Function:
    op = operations()[shape.op]
    names = shape.names if shape.through else words.shuffled(shape.names)
    parameters = words.parameters(op, (*names, op.through) if shape.through else names)
    return Function(
        name=words.function(op, near),
        op=op,
        shape=shape,
        positional=positional,
        parameters=parameters,
        does=words.worded(op.does),
        returns=words.worded(op.gives),
        settings=tuple(words.worded(clause(op.key, name, value)) for name, value in shape.settings),
    )


def _decoys(words: Words, used: Mapping[Shape, Function], count: int) -> list[Function]:
    """Functions that no code needs: look-alikes of used ones, then others."""
    made: dict[Shape, Function] = {}
    known = {shape.op for shape in used}
    for shape in words.shuffled(used):
        if len(made) >= (count + 1) // 2:
            break
        options = [option for option in look_alikes(shape) if option not in used and option not in made]
        options = [option for option in options if option.op == shape.op or option.op not in known]
        if options:
            option = words.pick(options)
            made[option] = _function(words, option, _form(option), operations()[shape.op])
    known |= {shape.op for shape in made}
    for op in words.shuffled(operations().values()):
        plain = _plain(op)
        if len(made) >= count:
            break
        if plain and op.key not in known:
            made[plain] = _function(words, plain, _form(plain))
    return list(made.values())


def look_alikes(shape: Shape) -> list[Shape]:
    """Shapes that read like this one and give something else."""
    found = []
    keyword, values = TURNS.get(shape.op, ("", ()))
    settings = dict(shape.settings)
    if keyword and keyword not in shape.names:
        now = settings.get(keyword, DEFAULTS.get(shape.op))
        for value in values:
            if value != now:
                turned = tuple(sorted({**settings, keyword: value}.items()))
                found.append(Shape(shape.op, shape.names, turned, shape.through))
    for key in operations()[shape.op].like.split():
        op = operation(key)
        plain = _plain(op) if op else None
        if not op or not plain:
            continue
        both = tuple(name for name in shape.names if name == SELF or name in op.positional)
        found.append(Shape(op.key, both) if set(both).issuperset(op.required) and both == shape.names else plain)
    return found


def _plain(op: Op) -> Shape | None:
    """The shape of an operation that no code uses, or None if it cannot stand alone."""
    if op.through and op.key not in UNUSED or any(name.endswith("...") for name in op.positional):
        return None
    names = UNUSED[op.key].split() if op.key in UNUSED else op.required
    return Shape(op.key, (SELF, *names) if op.receiver else tuple(names))


def _form(shape: Shape) -> frozenset[str]:
    """The parameters that are given by position: the first ones, as far as none is left out between them."""
    names = [SELF]
    for name in operations()[shape.op].positional:
        if name not in shape.names:
            break
        names.append(name)
    return frozenset(names)
