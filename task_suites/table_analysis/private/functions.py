"""The functions of a private library, as Python source and as documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deskgym.task_suites.table_analysis.private.operations import Op
from deskgym.task_suites.table_analysis.private.shapes import SELF, Shape

_HEADER = '''"""{module}: functions for tables."""

import functools

import numpy as np
import pandas as pd

CALLS = set()


def _listed(function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        result = function(*args, **kwargs)
        CALLS.add(function.__name__)
        return result

    return run
'''


@dataclass(frozen=True)
class Function:
    """One function of a private library.

    Attributes:
        name: its name.
        op: the operation that it hides.
        shape: how it uses it.
        positional: real names of the parameters that the operation gets by position.
        parameters: real name -> (name, description), in the order of the function's parameters.
        does: a sentence that says what it does.
        returns: what it gives back.
        settings: sentences on what is fixed.
    """

    name: str
    op: Op
    shape: Shape
    positional: frozenset[str]
    parameters: Mapping[str, tuple[str, str]]
    does: str
    returns: str
    settings: tuple[str, ...]

    @property
    def signature(self) -> str:
        """Such as ``gather_piles(trait, source)``."""
        names = [self.parameters[name][0] for name in self.parameters if name != self.op.through]
        if self.shape.through:
            names += ["/", f"**{self.parameters[self.op.through][0]}"]
        return f"{self.name}({', '.join(names)})"

    @property
    def documentation(self) -> str:
        """The entry for the agent."""
        lines = [self.signature, "    " + " ".join((self.does, *self.settings))]
        lines += [f"    - {name}: {meaning}" for name, meaning in self.parameters.values()]
        return "\n".join([*lines, f"    Result: {self.returns}."])

    @property
    def source(self) -> str:
        """The definition, without the decorator."""
        lines = self.documentation.split("\n")[1:]
        doc = "\n".join([f'    """{lines[0].strip()}', "", *lines[1:], '    """'])
        body = "\n".join(f"    {line}".rstrip() for line in self._body())
        return f"def {self.signature}:\n{doc}\n{body}\n"

    def _body(self) -> list[str]:
        given = {name: private for name, (private, _) in self.parameters.items()}
        if self.op.body:
            return [self.op.body.format(**given)]
        ordered = [name for name in self.shape.names if name != SELF]
        arguments = [given[name] for name in ordered if name in self.positional]
        arguments += [f"{name}={given[name]}" for name in ordered if name not in self.positional]
        arguments += [f"{name}={value}" for name, value in self.shape.settings]
        if self.shape.through:
            arguments.append(f"**{given[self.op.through]}")
        module, _, name = self.op.key.rpartition(".")
        if self.op.receiver:
            path = self.op.key if self.op.key.startswith(".") else f".{name}"
            return [f"return {given[SELF]}{path}({', '.join(arguments)})"]
        if module == "plt":
            return ["import matplotlib.pyplot as plt", "", f"return plt.{name}({', '.join(arguments)})"]
        if module.split(".")[0] in ("sklearn", "scipy"):
            return [f"from {module} import {name}", "", f"return {name}({', '.join(arguments)})"]
        return [f"return {self.op.key}({', '.join(arguments)})"]


def source_of(module: str, functions: Sequence[Function]) -> str:
    """The source of a library."""
    parts = [_HEADER.format(module=module)]
    parts += [f"\n\n@_listed\n{function.source}" for function in functions]
    return "".join(parts)


def documentation_of(module: str, alias: str, functions: Sequence[Function]) -> str:
    """The documentation of a library, for the agent."""
    head = f"The module {module} ({len(functions)} functions). Use it as: import {module} as {alias}"
    return "\n\n".join([head, *(function.documentation for function in functions)])
