"""Code as a page shows it: texts with what they are, so that keywords, strings and comments have colours."""

from __future__ import annotations

import re

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, is_token_subtype

_KINDS = (
    (Comment, "comment"), (String, "string"), (Number, "number"), (Keyword, "keyword"), (Operator.Word, "keyword"),
    (Name.Builtin, "builtin"), (Name.Function, "builtin"), (Name.Class, "builtin"), (Name.Decorator, "builtin"),
)  # fmt: skip
_MOST = 40_000  # characters: what is longer has no colours
_SPACES = re.compile(r"\s{200}")  # for each, the lexer looks through the rest of the run


def tokens(text: str) -> list[tuple[str, str]]:
    """The text of an action in pieces, each with its kind, "" where it has none; JSON is read as Python too.

    Examples:
        >>> tokens('click("OK")  # done')
        [('', 'click('), ('string', '"OK"'), ('', ')  '), ('comment', '# done')]
    """
    if not text or len(text) > _MOST or _SPACES.search(text):
        return [("", text)]
    found: list[tuple[str, str]] = []
    for token, piece in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        kind = next((name for parent, name in _KINDS if is_token_subtype(token, parent)), "")
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + piece)
        else:
            found.append((kind, piece))
    return found
