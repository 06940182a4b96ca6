"""Numbers on a command line."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def whole(least: int = 1) -> Callable[[str], int]:
    """A type for argparse: whole numbers from ``least`` up."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text}; legal is a whole number from {least} up")
        return number

    return read


def number(above: float = 0.0, most: float = math.inf) -> Callable[[str], float]:
    """A type for argparse: numbers above one, and up to another."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not above < value <= most:
            upto = "" if math.isinf(most) else f" and up to {most:g}"
            raise argparse.ArgumentTypeError(f"{text}; legal is a number above {above:g}{upto}")
        return value

    return read
