"""Lexer of KAlgebra's expression language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import ExpressionError

_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>//(?:[^\n]*?(?://|\n|$)))
  | (?P<op>->|:=|\.\.|\*\*|<=|>=|!=|[-+*/^(),{}\[\]?:=<>@|])
  | (?P<text>"(?:[^"\\]|\\.)*")
  | (?P<superscript>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)
  | (?P<name>[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹][^\W⁰¹²³⁴⁵⁶⁷⁸⁹]*)
  | (?P<number>(?:\.[0-9]+|[0-9]+(?:\.[0-9]+)?)(?:e-?[0-9]+)?)
    """,
    re.VERBOSE,
)


_PRINTED_NUMBER: Final = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?e[-+][0-9]{2,3})")


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind, its text, and where it starts."""

    kind: str  # "op", "text", "superscript", "name", "number" or "end"
    text: str
    at: int


def tokenize(text: str, displayed: bool = False) -> list[Token]:
    """Splits a text into tokens, the last of which is of kind "end"; comments are left out.

    With ``displayed``, ``1e+20`` is one number, as KAlgebra prints it; typed, it is ``1*e + 20``.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = (_PRINTED_NUMBER.match(text, at) if displayed else None) or _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise ExpressionError(f"unknown token {text[at]!r} at character {at}")
        if match.lastgroup not in ("space", "comment"):
            tokens.append(Token(match.lastgroup, match.group(), at))
        at = match.end()
    tokens.append(Token("end", "", at))
    return tokens
