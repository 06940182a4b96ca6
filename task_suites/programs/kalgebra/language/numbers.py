"""Arithmetic of Analitza on numbers and truth values: C doubles, 32-bit ints, and its own slips.

Every function here takes and returns float, complex or bool. Where Analitza's result is odd it is kept, since
the real program shows and plots that: ``arccot`` computes arsinh, ``implies(a, b)`` is ``a or not b``,
``factorial`` wraps at 2**32. ``tests/task_suites/programs/kalgebra/test_expressions.py`` compares it with ``calgebra``.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import ExpressionError

Scalar = float | complex | bool
_NAN: Final = math.nan
_INF: Final = math.inf


def normalised(number: complex) -> float | complex:
    """Returns a real number when the imaginary part is 0, as Analitza does after each operation."""
    return number.real if number.imag == 0 else number


def to_int(number: float) -> int:
    """Converts like C's ``int(x)`` on x86: towards zero, and INT_MIN for what does not fit."""
    return int(number) if -(2.0**31) - 1 < number < 2.0**31 else -(2**31)


def _floor_int(number: float) -> int:
    return to_int(_floor(number))


def _wrap32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x


def _ceil(x: float) -> float:
    return float(math.ceil(x)) if math.isfinite(x) else x


def _inverse(x: float) -> float:
    if x == 0:
        return math.copysign(_INF, x)
    return 1.0 / x


def _quiet(function: Callable[[float], float], overflow: float = _INF) -> Callable[[float], float]:
    """Makes a function of ``math`` return NaN and infinities where C does."""

    def quiet(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return _NAN
        except OverflowError:
            return math.copysign(overflow, x) if function is math.sinh else overflow

    return quiet


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -_INF if x == 0 else _quiet(function)(x)


def _factorial(x: float) -> float:
    result = 1
    for factor in range(2, min(to_int(x), 34) + 1):  # 34! is 0 modulo 2**32, and stays so
        result = result * factor % 2**32
    return float(result)


_sin, _cos, _tan = _quiet(math.sin), _quiet(math.cos), _quiet(math.tan)
_sinh, _cosh, _asin, _acos = _quiet(math.sinh), _quiet(math.cosh), _quiet(math.asin), _quiet(math.acos)
_sqrt, _ln = _quiet(math.sqrt), _log(math.log)


def _coth(x: float) -> float:
    return _divide_ieee(_cosh(x), _sinh(x))


def _divide_ieee(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return _NAN if a == 0 or math.isnan(a) else math.copysign(_INF, a) * math.copysign(1, b)


def _arcsech(x: float) -> float:
    inverse = _inverse(x)
    return _ln(inverse + _sqrt(inverse + 1) * _sqrt(inverse - 1))


def _arccsch(x: float) -> float:
    return _ln(_inverse(x) + _sqrt(_inverse(x * x) + 1))


def _arctanh(x: float) -> float:
    return math.copysign(_INF, x) if abs(x) == 1 else _quiet(math.atanh)(x)


_REAL: Final[dict[str, Callable[[float], float]]] = {
    "minus": lambda x: -x,
    "factorial": _factorial,
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "sec": lambda x: _inverse(_cos(x)),
    "csc": lambda x: _inverse(_sin(x)),
    "cot": lambda x: _inverse(_tan(x)),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": math.tanh,
    "sech": lambda x: _inverse(_cosh(x)),
    "csch": lambda x: _inverse(_sinh(x)),
    "coth": _coth,
    "arcsin": _asin,
    "arccos": _acos,
    "arctan": math.atan,
    "arccot": lambda x: _ln(x + _sqrt(x * x + 1)),
    "arcsinh": math.asinh,
    "arccosh": _quiet(math.acosh),
    "arccsc": lambda x: _inverse(_asin(x)),
    "arccsch": _arccsch,
    "arcsec": lambda x: _inverse(_acos(x)),
    "arcsech": _arcsech,
    "arctanh": _arctanh,
    "exp": _quiet(math.exp),
    "ln": _ln,
    "log": _log(math.log10),
    "abs": abs,
    "floor": _floor,
    "ceiling": _ceil,
}

_COMPLEX: Final[dict[str, Callable[[complex], complex]]] = {
    "minus": lambda z: -z,
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
    "sinh": cmath.sinh,
    "cosh": cmath.cosh,
    "tanh": cmath.tanh,
    "coth": lambda z: cmath.cosh(z) / cmath.sinh(z),
    "exp": cmath.exp,
    "ln": cmath.log,
    "log": cmath.log10,
    "abs": abs,
    "conjugate": lambda z: z.conjugate(),
    "arg": cmath.phase,
    "real": lambda z: z.real,
    "imaginary": lambda z: z.imag,
}


def unary(operator: str, value: Scalar) -> Scalar:
    """Applies a one-argument operator.

    Raises:
        ExpressionError: If Analitza has no such operation on this type.
    """
    if isinstance(value, bool):
        if operator == "not":
            return not value
    elif isinstance(value, complex):
        if operator in _COMPLEX:
            try:
                return normalised(complex(_COMPLEX[operator](value)))
            except (OverflowError, ValueError, ZeroDivisionError):
                return complex(_NAN, _NAN)
    elif operator in _REAL:
        return _REAL[operator](value)
    kinds = {bool: "a truth value", complex: "a complex number"}
    raise ExpressionError(f"KAlgebra cannot compute {operator} of {kinds.get(type(value), 'a real number')}")


def power(base: float, exponent: float) -> float | complex:
    """``base ^ exponent``: complex only for a negative base and an exponent between -1 and 1."""
    if base < 0 and -1 < exponent < 1:
        return _complex_power(base, exponent)
    return _real_power(base, exponent)


def _real_power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        odd = exponent == _floor(exponent) and math.fmod(exponent, 2) != 0
        return -_INF if base < 0 and odd else _INF
    except ValueError:
        return _NAN if base != 0 else _INF


def _complex_power(base: complex, exponent: complex) -> float | complex:
    if base == 0:
        return complex(_NAN, _NAN) if complex(exponent).imag else _real_power(0.0, complex(exponent).real)
    try:
        return normalised(cmath.exp(complex(exponent) * cmath.log(base)))
    except (OverflowError, ValueError):
        return complex(_NAN, _NAN)


def _root(a: float, b: float) -> float:
    if b == 2:
        return _sqrt(a)
    if abs(b) > 1 and a < 0:
        return complex(_complex_power(a, 1 / b)).real
    return _real_power(a, _inverse(b))


def _remainder(a: float, b: float) -> float:
    _nonzero(_floor(b), "remainder on")
    try:
        return float(to_int(math.remainder(a, b)))
    except ValueError:
        return float(to_int(_NAN))


def _factor_of(a: float, b: float) -> bool:
    divisor = _floor_int(b)
    _nonzero(divisor, "factor on")
    return _floor_int(a) % divisor == 0


def _gcd(a: float, b: float) -> float:
    return float(_euclid(_floor_int(a), _floor_int(b)))


def _euclid(a: int, b: int) -> int:
    while b > 0:
        a, b = b, int(math.fmod(a, b))
    return a


def _lcm(a: float, b: float) -> float:
    _nonzero(_floor(a) and _floor(b), "lcm of")
    first, second = _floor_int(a), _floor_int(b)
    divisor = _euclid(first, second)
    return float(int(_wrap32(first * second) / divisor)) if divisor else 0.0


def _nonzero(number: float, what: str) -> None:
    if number == 0:
        raise ExpressionError(f"cannot calculate the {what} 0")


def _divide(a: float, b: float) -> float:
    if b == 0:
        raise ExpressionError("cannot divide by 0")
    return a / b


_REAL_REAL: Final[dict[str, Callable[[float, float], Scalar]]] = {
    "plus": lambda a, b: a + b,
    "times": lambda a, b: a * b,
    "minus": lambda a, b: a - b,
    "divide": _divide,
    "power": power,
    "root": _root,
    "rem": _remainder,
    "quotient": lambda a, b: float(_floor_int(_divide_ieee(a, b))),
    "factorof": _factor_of,
    "gcd": _gcd,
    "lcm": _lcm,
    "min": lambda a, b: a if a < b else b,
    "max": lambda a, b: a if a > b else b,
    "approx": lambda a, b: abs(a - b) < 0.001,
    "lt": lambda a, b: a < b,
    "gt": lambda a, b: a > b,
    "leq": lambda a, b: a <= b,
    "geq": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "neq": lambda a, b: a != b,
}

_BOOL_BOOL: Final[dict[str, Callable[[bool, bool], bool]]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
    "implies": lambda a, b: a or not b,
    "eq": lambda a, b: a == b,
    "neq": lambda a, b: a != b,
}


def binary(operator: str, a: Scalar, b: Scalar) -> Scalar:
    """Applies a two-argument operator.

    Raises:
        ExpressionError: On a division by zero, or if Analitza has no such operation on these types.
    """
    if isinstance(a, bool) and isinstance(b, bool):
        if operator in _BOOL_BOOL:
            return _BOOL_BOOL[operator](a, b)
    elif isinstance(a, bool) or isinstance(b, bool):
        raise ExpressionError(f"KAlgebra cannot compute {operator} between a number and a truth value")
    elif isinstance(a, complex) or isinstance(b, complex):
        return _complex_binary(operator, complex(a), complex(b))
    elif operator in _REAL_REAL:
        return _REAL_REAL[operator](a, b)
    raise ExpressionError(f"KAlgebra cannot compute {operator} on these types")


def _complex_binary(operator: str, a: complex, b: complex) -> Scalar:
    try:
        if operator == "plus":
            return normalised(a + b)
        if operator == "minus":
            return normalised(a - b)
        if operator == "times":
            return normalised(a * b)
        if operator == "divide":
            return normalised(a / b)
    except ZeroDivisionError:
        raise ExpressionError("cannot divide by 0") from None
    except OverflowError:
        return complex(_NAN, _NAN)
    if operator == "power":
        return _complex_power(a, b)
    if operator == "root":
        if b.imag == 0 and b.real != 2:
            raise ExpressionError("KAlgebra has only square roots of complex numbers")
        return normalised(cmath.sqrt(a))
    if operator in ("eq", "neq"):
        return (a == b) is (operator == "eq")
    first, second = (a.real, a.imag), (b.real, b.imag)
    if operator in ("lt", "gt", "leq", "geq"):
        return bool(_REAL_REAL[operator](first, second))  # type: ignore[arg-type]  # tuples order the same way
    if operator in ("min", "max"):
        return a if (first < second if operator == "min" else first > second) else b
    if operator == "approx":
        return abs(a.real - b.real) + abs(a.imag - b.imag) < 0.001
    if operator == "quotient":
        return float(_floor_int((a / b).real)) if b else float(-(2**31))
    if operator in ("rem", "factorof", "gcd", "lcm"):
        return _REAL_REAL[operator](a.real, b.real)
    raise ExpressionError(f"KAlgebra cannot compute {operator} of complex numbers")
