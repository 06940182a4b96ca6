"""Takes the benchmark's prompts apart: context, dialogue, query, and the code template with its gap.

A prompt is a list of messages: the context, then users' and assistant's words in turn; the last two are the query (with
the template, or the options) and the beginning of the answer. In plain text each begins with a speaker in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deskgym.task_suites.importers.tapilot.turn import Message, Template

_SPEAKER = re.compile(r"^\[(USER|YOU) \([^)\n]*\)\]:[ \t]*", re.MULTILINE)
_BEGIN = re.compile(r"^[ \t]*#[ \t]*YOUR SOLUTION BEGIN:?[^\n]*\n?", re.MULTILINE)
_END = re.compile(r"^[ \t]*#[ \t]*YOUR SOLUTION END[^\n]*\n?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:'''|```(?:python)?|---BEGIN CODE TEMPLATE---|---END CODE TEMPLATE---)", re.MULTILINE)
_AFTER_QUERY = re.compile(
    r"My template of code snippet is:|---BEGIN CODE TEMPLATE---|Please note that you have to generate the WHOLE"
    r"|Please generate the python code \(with pandas|Please choose the best option and directly"
    r"|^[ \t]*'''|^[ \t]*```",
    re.MULTILINE,
)
_MARKS = re.compile(r"^Interactions begin:[ \t]*$|^--- Interaction History: ---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """A prompt, taken apart; see ``UpstreamTurn`` for the fields."""

    context: str
    dialogue: tuple[Message, ...]
    query: str
    template: Template | None


def split_prompt(messages: Sequence[Message]) -> Prompt:
    """Take a prompt apart.

    Raises:
        ValueError: it does not end with the user's words and, maybe, the beginning of an answer.
    """
    speakers = [message for message in messages if message.role != "system"]
    last = next((index for index in reversed(range(len(speakers))) if speakers[index].role == "user"), None)
    if last is None or last < len(speakers) - 2:
        raise ValueError("does not end with a user's message and at most one of the assistant's")
    context = "\n".join(message.content for message in messages if message.role == "system")
    end = "\n".join(message.content for message in speakers[last:])
    return Prompt(
        context=_MARKS.sub("", context).strip(),
        dialogue=tuple(speakers[:last]),
        query=split_query(speakers[last].content),
        template=split_template(end),
    )


def messages_of(text: str) -> tuple[Message, ...]:
    r"""The messages of a prompt in plain text.

    Examples:
        >>> [message.role for message in messages_of("Columns: a\n[USER (x)]: Sum?\n\n[YOU (AI)]: Sure:")]
        ['system', 'user', 'assistant']
    """
    found = list(_SPEAKER.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)][: len(found)]
    messages = [
        Message("user" if match[1] == "USER" else "assistant", text[match.end() : end].strip())
        for match, end in zip(found, ends, strict=True)
    ]
    context = text[: found[0].start()].strip() if found else text.strip()
    return (Message("system", context), *messages) if context else tuple(messages)


def split_query(content: str) -> str:
    """A user's words without the template and the instructions around it."""
    match = _AFTER_QUERY.search(content)
    return (content[: match.start()] if match else content).strip()


def split_template(text: str) -> Template | None:
    r"""The last code template of a text, or None when it has none.

    Examples:
        >>> split_template("x\n'''\nimport a\n# YOUR SOLUTION BEGIN:\n# YOUR SOLUTION END\nsave(b)\n'''").tail
        'save(b)'
    """
    begins = list(_BEGIN.finditer(text))
    if not begins:
        return None
    fences = list(_FENCE.finditer(text))
    start = max((fence.end() for fence in fences if fence.end() <= begins[-1].start()), default=0)
    stop = min((fence.start() for fence in fences if fence.start() >= begins[-1].end()), default=len(text))
    block = text[start:stop]
    first, ends = _BEGIN.search(block), list(_END.finditer(block))
    if first is None or not ends:
        return None
    return Template(block.strip("\n"), block[: first.start()].strip("\n"), block[ends[-1].end() :].strip("\n"))
