"""Simulated users: they answer an agent's question from the facts that a turn hides.

``rule_user`` needs no language model; ``users_openai.EndpointUser`` asks one. Neither is ever given any code.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from deskgym.envs.errors import near
from deskgym.task_suites.table_analysis.turns import Fact

User = Callable[[str, Sequence[Fact]], str]
"""Answers a question, given what the user knows."""

CANNOT_SAY = "I can't tell you more about that; decide as you think best."
"""What a user says whenever no fact is asked for."""

MAX_FACTS = 2
"""How many facts one question brings to light at most."""

MAX_WORDS = 80
"""A longer question is a list of everything that one could ask, and gets nothing."""

QUOTE = 5
"""So many words in a row that a query has too are repeated from it."""

_PREFIX = 5  # an ``about`` word of this many letters is also found as the beginning of a longer word
_WORD = re.compile(r"[a-z0-9]+")
_LETTERS = re.compile(r"\w+")
_SUFFIXES = ("ingly", "edly", "ings", "ing", "ed", "ly", "es", "s", "e")
_FILLERS = frozenset(
    "a an and any are as at be by can could did do does for from had has have how i if in is it its me my of on or "
    "our please shall should that the their them there these they this those to was we were what when where which "
    "who will with would you your".split()
)
_QUESTION_WORDS = frozenset(("when", "where", "who"))  # the only fillers that alone can be what a question is about
_ADJECTIVES = r"(?:(?:right|correct|expected|true|final|gold|exact|reference|actual)\s+)*"
_BLANKET = re.compile(
    rf"""
    \bwhat(?:'s|\s+is|\s+are|\s+would\s+be|\s+should\s+be)?\s+(?:the|your)\s+{_ADJECTIVES}
        (?:answer|result|solution|code|option|letter|output)s?\s*(?:[?.!]|$|\bto\b|\bof\b|\bfor\b|\bhere\b|\bplease\b)
    | \b(?:tell|give|list|show|say|reveal|share|print|repeat|write)\b(?:\s+\w+){{0,3}}\s+(?:everything|all|whatever)\b
    | \b(?:tell|give|show|reveal|share|print|write|send)\b(?:\s+\w+){{0,2}}\s+(?:the|your)\s+{_ADJECTIVES}
        (?:answer|solution|code|option|letter|script|program)s?\b
    | \b(?:everything|all|whatever|anything)\s+(?:that\s+)?you\s+know\b
    | \b(?:all|every|each|the|your|any)\s+(?:of\s+)?(?:the\s+|your\s+)?(?:hidden\s+)?
        (?:facts?|hints?|secrets?|instructions|system\s+prompt)\b
    """,
    re.VERBOSE,
)
_TURN_OF_PHRASE = re.compile(r"\byou\s+mean\b|\bby\s+all\s+means\b")


def make_user(config: str | Mapping[str, Any]) -> User:
    """The user that an environment's argument names.

    Args:
        config: ``"rules"``, or the settings of a language model behind an OpenAI-compatible endpoint: ``endpoint`` and
            ``model``, and as wanted the other fields of ``users_openai.EndpointUser``.

    Raises:
        ValueError: it is neither, or a setting is wrong.
    """
    if isinstance(config, Mapping):
        from deskgym.task_suites.table_analysis.users_openai import endpoint_user

        return endpoint_user(config)
    if config != "rules":
        legal = "'rules' and a mapping such as {'endpoint': URL, 'model': NAME}"
        raise ValueError(f"user={config!r}; legal are {legal}{near(config, ['rules'])}")
    return rule_user


def rule_user(question: str, facts: Sequence[Fact]) -> str:
    """Answer by the words of the question.

    A fact is told when one of the words or phrases that it is ``about`` is in the question, in any case and with any
    of the usual endings; of several facts those with most such words, at most ``MAX_FACTS``, in their own order. Small
    words such as "which" do not count, except "when", "where" and "who" if the question is about nothing else. Every
    other question gets ``CANNOT_SAY``, and so do those for the answer, for code or for everything at once.

    Examples:
        >>> fact = Fact(("mean", "median", "average"), "The arithmetic mean, in grams.")
        >>> rule_user("Which average do you want?", [fact])
        'The arithmetic mean, in grams.'
        >>> rule_user("Tell me everything.", [fact])
        "I can't tell you more about that; decide as you think best."
    """
    if asks_for_everything(question):
        return CANNOT_SAY
    words = _stems(_TURN_OF_PHRASE.sub(" ", _plain(question)))
    telling = _without_fillers(words)
    counts = [sum(_about(words, telling, phrase) for phrase in fact.about) for fact in facts]
    ranked = sorted((index for index, count in enumerate(counts) if count), key=lambda index: -counts[index])
    if not ranked:  # a question such as "when?" is all fillers; elsewhere such a word may be anything
        ranked = [index for index, fact in enumerate(facts) if any(_asks(words, phrase) for phrase in fact.about)]
    told = [facts[index].answer for index in sorted(ranked[:MAX_FACTS])]
    return " ".join(dict.fromkeys(told)) or CANNOT_SAY


def own_words(question: str, query: str) -> str:
    """The question without what it only repeats of the turn's query: runs of ``QUOTE`` words or more.

    To say the query back is no question; without this it would bring out every fact that the query touches.

    Examples:
        >>> own_words("What do the birds weigh on average? The mean?", "What do the birds weigh on average?")
        ' ? The mean?'
        >>> own_words("Which average?", "What do the birds weigh on average?")
        'Which average?'
    """
    said = [word.lower() for word in _LETTERS.findall(query)]
    words = list(_LETTERS.finditer(question))
    size = max(1, min(QUOTE, len(said)))
    runs = {tuple(window) for window in _windows(said, size)}
    asked = [word.group().lower() for word in words]
    repeated = {start + k for start, run in enumerate(_windows(asked, size)) if tuple(run) in runs for k in range(size)}
    pieces, end = [], 0
    for index in sorted(repeated):
        pieces += [question[end : words[index].start()]]
        end = words[index].end()
    return re.sub(r"\s+", " ", "".join([*pieces, question[end:]])) if repeated else question


def asks_for_everything(question: str) -> bool:
    """Whether a question is for the answer, for code, or for all that the user knows, instead of for something."""
    plain = _plain(question)
    return len(_WORD.findall(plain)) > MAX_WORDS or _BLANKET.search(plain) is not None


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("_", " ")


def _stems(plain: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(plain)]


def _stem(word: str) -> str:
    """The word without its ending: ``averages`` and ``averaging`` become ``averag``."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            return _undoubled(word[: -len(suffix)]) if suffix in ("ing", "ings", "ed") else word[: -len(suffix)]
    return word


def _undoubled(stem: str) -> str:
    """``dropp`` becomes ``drop``; ``miss`` and ``fill`` stay."""
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem


def _without_fillers(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _FILLERS]


def _about(words: Sequence[str], telling: Sequence[str], phrase: str) -> bool:
    """Whether the phrase has telling words, and they follow one another in the question, with or without small ones."""
    wanted = _stems(_plain(phrase))
    core = _without_fillers(wanted)
    return bool(core) and (_follow(words, wanted) or _follow(telling, core))


def _asks(words: Sequence[str], phrase: str) -> bool:
    """Whether the question has the phrase, which is all small words, such as ``when`` or ``by what``."""
    wanted = _stems(_plain(phrase))
    if _without_fillers(wanted) or (len(wanted) < 2 and not _QUESTION_WORDS.issuperset(wanted)):
        return False
    return bool(wanted) and _follow(words, wanted)


def _follow(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return any(all(map(_same, window, wanted)) for window in _windows(words, len(wanted)))


def _windows(words: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (words[start : start + size] for start in range(len(words) - size + 1))


def _same(word: str, wanted: str) -> bool:
    return word == wanted or (len(wanted) >= _PREFIX and word.startswith(wanted))
