"""What a language model answers, as actions: fenced blocks of code or JSON, and the words WAIT, DONE, FAIL and ANS.

The form is that of Spider2-V (``parse_code_from_string`` and ``parse_actions_from_string`` of its ``agent.py``) and of
ScienceBoard's prompts, without what is broken there: a ``;`` in a text does not cut a program in two, and the first
word of a block such as ```` ```ANS 5``` ```` is not taken for the name of a language.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deskgym.envs.action.actions import Action, parse_code
from deskgym.envs.errors import ActionError

_OPEN = re.compile(r"`{3,}")
_LANGUAGES = frozenset({"python", "python3", "py", "pyautogui", "json", "text", "plaintext", "bash", "sh", "code"})
_WORD = re.compile(r"(?:DONE|FAIL|WAIT(?:[ \t]+\d+(?:\.\d+)?)?|ANS(?:[ \t].*)?)[ \t]*")
_TAG = re.compile(r"[A-Za-z][\w+#.-]*")


@dataclass(frozen=True)
class Unreadable:
    """A part of a response that stands where an action should, but is none.

    Attributes:
        text: what stands there.
        reason: why it is not an action.
    """

    text: str
    reason: str


def fenced_blocks(text: str) -> list[str]:
    r"""The contents of the Markdown fences, in order, dedented, without the name of a language; empty ones left out.

    A fence that is never closed is no block: the response was cut off, and so may be the program.

    Examples:
        >>> fenced_blocks("First:\n```python\npyautogui.press('a')\n```\nand then ```DONE```.")
        ["pyautogui.press('a')", 'DONE']
    """
    blocks = []
    position = 0
    while opening := _OPEN.search(text, position):
        fence, start = opening.group(), opening.end()
        closing = _closing(text, start, fence)
        if closing is None:
            break
        if block := _without_language(text[start : closing.start()]):
            blocks.append(block)
        position = closing.end()
    return blocks


def _closing(text: str, start: int, fence: str) -> re.Match[str] | None:
    """Where the fence is closed: on the line of the opening, else at the start or end of a line, else anywhere."""
    line_end = text.find("\n", start)
    rest_of_line = len(text) if line_end < 0 else line_end
    return (
        re.compile(fence).search(text, start, rest_of_line)
        or re.compile(rf"(?m:^[ \t]*){fence}(?!`)|{fence}(?=[ \t]*(?:\n|\Z))").search(text, rest_of_line)
        or re.compile(fence).search(text, rest_of_line)
    )


def _without_language(content: str) -> str:
    """The content of a fence without the language that may stand behind the opening."""
    first, newline, rest = content.partition("\n")
    if newline and _TAG.fullmatch(first.rstrip()) and not _is_word(first.rstrip()):
        content = rest
    elif first.partition(" ")[0] in _LANGUAGES:
        content = content.partition(" ")[2]
    return textwrap.dedent(content).strip("\n").rstrip()


def code_actions(response: str, *, bare: bool = False) -> list[str]:
    r"""A response as code actions: programs, and the words on their own.

    Every fenced block is one action, whatever its language is called. Words on the last lines of a block become
    actions of their own. A response without a fence is an action only where it is a word.

    Args:
        response: what the model wrote.
        bare: take a response without a fence for a program.

    Examples:
        >>> code_actions("I save and wait.\n```python\npyautogui.hotkey('ctrl', 's')\nWAIT 2\n```\n```DONE```")
        ["pyautogui.hotkey('ctrl', 's')", 'WAIT 2', 'DONE']
        >>> code_actions("DONE"), code_actions("I am done."), code_actions("x = 1", bare=True)
        (['DONE'], [], ['x = 1'])
    """
    return [part for block in _blocks(response, bare) for part in _split_words(block)]


def _blocks(response: str, bare: bool) -> list[str]:
    whole = response.strip()
    if "```" not in whole and (_is_word(whole) or (bare and whole)):
        return [whole]
    return fenced_blocks(response)


def _is_word(text: str) -> bool:
    try:
        return isinstance(parse_code(text), Action)
    except ActionError:
        return True  # a word whose argument is not legal


def _split_words(block: str) -> list[str]:
    """A block as a program and the words on the lines at its end."""
    if _is_word(block):
        return [block.strip()]
    lines = block.split("\n")
    words: list[str] = []
    while lines and (not lines[-1].strip() or _WORD.fullmatch(lines[-1])):
        line = lines.pop().strip()
        words[:0] = [line] if line else []
    program = "\n".join(lines).rstrip()
    return ([program] if program else []) + words


def computer_actions(response: str, *, bare: bool = False) -> list[Mapping[str, Any] | Action | Unreadable]:
    r"""A response as actions for ``action="computer"``: JSON in fenced blocks, and the words.

    A block holds one action or a list of them, in the form of ``Action.from_dict`` or with an ``action_type``. A
    response that is JSON as a whole needs no fence. What stands in a block and cannot be read is an ``Unreadable``.

    Args:
        response: what the model wrote.
        bare: take a response without a fence for an action even where it cannot be read as one.

    Examples:
        >>> computer_actions('Here: ```json\n[{"action": "click", "x": 5, "y": 6}, {"action_type": "DONE"}]\n```')
        [{'action': 'click', 'x': 5, 'y': 6}, {'action_type': 'DONE'}]
        >>> computer_actions("```json\n{action: click}\n```")[0].reason
        'not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'
    """
    whole = response.strip()
    looks_like_json = "```" not in whole and whole[:1] in ("{", "[") and not isinstance(_load(whole), Unreadable)
    blocks = _blocks(response, bare or looks_like_json)
    return [action for block in blocks for part in _split_words(block) for action in _read_json(part)]


def _read_json(block: str) -> Iterator[Mapping[str, Any] | Action | Unreadable]:
    data = _load(block) if not _is_word(block) else block
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, (Mapping, Unreadable)):
            yield item
        elif isinstance(item, str) and _is_word(item):
            yield _read_word(item)
        else:
            yield Unreadable(json.dumps(item, ensure_ascii=False), f"an action is a JSON object, got {item!r}")


def _read_word(text: str) -> Action | Unreadable:
    try:
        action = parse_code(text)
    except ActionError as error:
        return Unreadable(text, str(error))
    assert isinstance(action, Action)  # the caller has seen to it
    return action


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return Unreadable(text, f"not JSON: {error}")
