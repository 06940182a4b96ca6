"""What a code action does with mouse and keyboard, read from its text: for programs that do nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deskgym.envs.action.actions import Action, parse_code
from deskgym.envs.errors import ActionError
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers.action.coordinates import unwrap_code
from deskgym.wrappers.action.coordinates_guest import OFFSET, POINT, Axis, distance, inward

KEYS = ("write", "typewrite", "press", "keyDown", "hotkey")
_NEITHER = ("keyUp", "sleep")
_POINT = {name: first for name, first in POINT.items() if not name.startswith("pixel")}
_CLICKS = tuple(name for name in _POINT if name.endswith("Click"))
_CALLS = (*_POINT, *OFFSET, *KEYS, *_NEITHER)
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class Deed:
    """One call of a program.

    Attributes:
        line: its line, from 1.
        text: the line's text.
        keys: whether it presses keys.
        point: where it puts the pointer, in screen pixels.
        offset: how far it moves the pointer, in screen pixels.
        mouse: whether it uses the mouse at all; without point and offset, where the pointer is.
        click: whether it surely presses a button there.
    """

    line: int
    text: str
    keys: bool = False
    point: tuple[float, float] | None = None
    offset: tuple[float, float] | None = None
    mouse: bool = False
    click: bool = False


def read_program(text: str) -> list[Deed]:
    r"""The calls of a straight program of pyautogui's mouse and keyboard functions with literal arguments.

    Also legal are ``time.sleep``, imports of pyautogui and time, and assignments of literals such as
    ``tag_3 = (10, 20)``, whose names, items and sums may then be arguments.

    Args:
        text: a program, which wrappers that translate coordinates may have been applied to.

    Raises:
        ActionError: there is something else in it; the message names the line.

    Examples:
        >>> read_program("tag_1 = (10, 20)\npyautogui.click(*tag_1)")[0].point
        (10, 20)
    """
    source, frames = unwrap_code(text)
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ActionError(
            f"line {getattr(error, 'lineno', None) or 1}: the program is not Python: {getattr(error, 'msg', error)}"
        ) from error
    reader = _Reader(source.splitlines() or [""], frames)
    return [deed for statement in tree.body if (deed := reader.statement(statement)) is not None]


class GuiPrograms(UnicodeText):
    """The code actions that ``read_program`` takes, and the words (DONE, WAIT, ...). Samples type some text.

    Examples:
        >>> space = GuiPrograms(1000)
        >>> "pyautogui.click(1, 2)" in space, "import os" in space
        (True, False)
    """

    programs = True
    """Its texts are programs, not what else a wrapper may take: see ``FramedActions.set_frame``."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A program that types up to 16 characters."""
        return f"pyautogui.write({super().sample(mask, probability)!r})"

    def contains(self, x: Any) -> bool:
        """Whether x is such a text, and not too long."""
        try:
            program = parse_code(x)
            if not isinstance(program, Action):
                read_program(program)
        except ActionError:
            return False
        return super().contains(x)

    def __repr__(self) -> str:
        return f"GuiPrograms({self.max_length})"


class _NotAllowed(Exception):
    """Part of a statement that may not be there."""


class _Reader:
    """Reads the statements of one program in order.

    Args:
        lines: of the program.
        frames: the coordinates' frames, from the program's inwards.
    """

    def __init__(self, lines: Sequence[str], frames: Sequence[tuple[Axis, Axis]]) -> None:
        self.lines, self.frames = lines, frames
        self.names: dict[str, Any] = {}
        self.functions: dict[str, str] = {"pyautogui": "pyautogui", "time": "time"}
        """Modules and functions by the name that the program has for them: ``pyautogui``, ``pyautogui.click``."""

    def statement(self, node: ast.stmt) -> Deed | None:
        line = self.lines[min(node.lineno, len(self.lines)) - 1].strip()
        try:
            return self._statement(node, line)
        except (_NotAllowed, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise ActionError(
                f"line {node.lineno}: {line!r} is not allowed ({error}): the agent has mouse and keyboard only, so a "
                "program is a list of pyautogui's mouse and keyboard calls with literal arguments, one after the "
                "other, and time.sleep"
            ) from None

    def _statement(self, node: ast.stmt, line: str) -> Deed | None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
            return None
        if isinstance(node, ast.Assign):
            value = self._value(node.value)
            for target in node.targets:
                if not isinstance(target, ast.Name) or target.id in self.functions:
                    raise _NotAllowed(f"an assignment to {ast.unparse(target)}")
                self.names[target.id] = value
            return None
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self._call(node.value, node.lineno, line)
        raise _NotAllowed(type(node).__name__)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            name = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            module, _, function = name.partition(".")
            if module not in ("pyautogui", "time") or (function and function not in (*_CALLS, "sleep")):
                raise _NotAllowed(f"an import of {name}")
            self.functions[alias.asname or alias.name] = name
            self.names.pop(alias.asname or alias.name, None)

    def _call(self, node: ast.Call, number: int, line: str) -> Deed | None:
        name = self._function(node.func)
        args: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args.extend(self._value(argument.value))
            else:
                args.append(self._value(argument))
        kwargs = {keyword.arg: self._value(keyword.value) for keyword in node.keywords if keyword.arg is not None}
        if len(kwargs) < len(node.keywords):
            raise _NotAllowed("**")
        module, _, function = name.partition(".")
        if name == "time.sleep" or (module == "pyautogui" and function in _NEITHER):
            return None
        if module != "pyautogui" or function not in _CALLS:
            raise _NotAllowed(f"{name} is no mouse or keyboard function")
        if function in KEYS:
            return Deed(number, line, keys=True)
        if function in OFFSET:
            offset = self._pair(args, kwargs, 0, ("xOffset", "yOffset"))
            x, y = (0 if value is None else value for value in offset)
            return Deed(number, line, offset=self._offset(x, y), mouse=True)
        x, y = self._pair(args, kwargs, _POINT[function], ("x", "y"))
        clicks = args[2] if len(args) > 2 else kwargs.get("clicks", 1)
        click = function in _CLICKS or (function == "click" and clicks >= 1)
        if x is None and y is None:
            return Deed(number, line, mouse=True, click=click)
        if x is None or y is None:
            raise _NotAllowed("x and y must be given together")
        return Deed(number, line, point=self._point(x, y), mouse=True, click=click)

    def _function(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name) and node.id in self.functions:
            return self.functions[node.id]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.functions:
            return f"{self.functions[node.value.id]}.{node.attr}"
        raise _NotAllowed(f"a call of {ast.unparse(node)}")

    def _pair(self, args: list[Any], kwargs: dict[str, Any], first: int, names: tuple[str, str]) -> tuple[Any, Any]:
        """The two numbers that a call points with, as pyautogui finds them."""
        x, y = (args[first + k] if len(args) > first + k else kwargs.get(name) for k, name in enumerate(names))
        if isinstance(x, tuple | list) and len(x) == 2:
            x, y = x
        elif isinstance(x, tuple | list) and len(x) == 4:
            x, y = x[0] + x[2] / 2, x[1] + x[3] / 2
        if any(value is not None and not _is_number(value) for value in (x, y)):
            raise _NotAllowed("a point is two numbers")
        return x, y

    def _point(self, x: float, y: float) -> tuple[float, float]:
        for horizontal, vertical in self.frames:
            x, y = inward(x, horizontal), inward(y, vertical)
        return x, y

    def _offset(self, x: float, y: float) -> tuple[float, float]:
        for horizontal, vertical in self.frames:
            x, y = distance(x, horizontal), distance(y, vertical)
        return x, y

    def _value(self, node: ast.expr) -> Any:
        """A literal, a name or item of one, or a sum of numbers."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self._value(item) for item in node.elts)
        if isinstance(node, ast.Name) and node.id in self.names:
            return self.names[node.id]
        if isinstance(node, ast.Subscript):
            return self._value(node.value)[self._value(node.slice)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self._number(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](self._number(node.left), self._number(node.right))
        if isinstance(node, ast.Attribute) and self._is_button(node):
            return node.attr.lower()
        raise _NotAllowed(f"{ast.unparse(node)} is no literal")

    def _is_button(self, node: ast.Attribute) -> bool:
        return self._function(node) in {f"pyautogui.{name}" for name in ("LEFT", "MIDDLE", "RIGHT", "PRIMARY")}

    def _number(self, node: ast.expr) -> Any:
        value = self._value(node)
        if not _is_number(value) or abs(value) > 1e9:
            raise _NotAllowed(f"{ast.unparse(node)} is no number up to 1e9")
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
