"""What tasks ask of documents: papers that differ by the seed, and edits of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.toolkits.texts import edit, everywhere

_SUBJECTS = ("soil moisture", "bridge vibration", "river sediment", "leaf growth", "glacier melt", "crystal decay")
_PLACES = ("northern plots", "test stands", "upper valleys", "coastal stations", "control rooms")
_METHODS = ("a calibrated probe", "a laser gauge", "weekly samples", "two cameras", "a fixed sensor array")
_AUTHORS = ("A. Moreau", "J. Lindqvist", "P. Okafor", "S. Tanaka", "M. Duarte")
_SECTIONS = ("Introduction", "Methods", "Results", "Discussion")
_SENTENCES = {
    "Introduction": (
        "Few studies of {subject} cover more than {years} years.",
        "We ask how {subject} changes in {place}.",
        "Earlier work reports a trend, but no cause.",
    ),
    "Methods": (
        "We measured {subject} with {method}.",
        "Each of the {count} sites was visited {visits} times.",
        "All readings were taken before noon.",
    ),
    "Results": (
        "The mean rose by {rise} percent in {years} years.",
        "It fell at {few} of the {count} sites.",
        "No site was stable over the whole period.",
    ),
    "Discussion": (
        "The rise is larger than that of earlier reports.",
        "We cannot rule out an effect of {method}.",
        "More sites in {place} are needed.",
    ),
}


def paper(seed: int) -> dict[str, Any]:
    """A short paper: its ``text`` (LaTeX), ``sections``, ``sentences`` by section, and what it is about."""
    draw = random.Random(f"paper {seed}")
    count = draw.randint(12, 40)
    about: dict[str, Any] = {
        "subject": draw.choice(_SUBJECTS), "place": draw.choice(_PLACES), "method": draw.choice(_METHODS),
        "author": draw.choice(_AUTHORS), "count": count, "few": draw.randint(2, count - 8), "years": draw.randint(3, 9),
        "visits": draw.randint(4, 30), "rise": draw.randint(2, 48),
    }  # fmt: skip
    sentences = [[each.format(**about) for each in _SENTENCES[name]] for name in _SECTIONS]
    title = f"{about['subject'].capitalize()} in {about['place']}"
    body = "\n\n".join(
        "\n".join([rf"\section{{{name}}}", *lines]) for name, lines in zip(_SECTIONS, sentences, strict=True)
    )
    text = (
        f"\\documentclass{{article}}\n\\title{{{title}}}\n\\author{{{about['author']}}}\n\\date{{May 2024}}\n\n"
        f"\\begin{{document}}\n\\maketitle\n\n{body}\n\n\\end{{document}}\n"
    )
    return {**about, "title": title, "sections": [*_SECTIONS], "sentences": sentences, "text": text}


def line(text: str, of: str) -> int:
    """The number of the first line that has a text, from 1.

    Raises:
        ValueError: no line has it.
    """
    for number, each in enumerate(text.splitlines(), 1):
        if of in each:
            return number
    raise ValueError(f"no line has {of!r}")


def pick(items: list[Any], at: int) -> Any:
    """One of several items, from 0."""
    return items[at]


_WRITERS = ("Berg, Lena", "Novak, Petr", "Okafor, Ada", "Santos, Clara", "Weiss, Omar")
_TOPICS = ("Probes", "Gauges", "Sampling", "Long series", "Field work", "Noise", "Drift")


def references(seed: int) -> dict[str, Any]:
    """A bibliography: its ``text`` (BibTeX), and two entries of one author, the ``wanted`` and the ``near`` one."""
    draw = random.Random(f"references {seed}")
    writers, topics = draw.sample(_WRITERS, 4), draw.sample(_TOPICS, 5)
    authors = [writers[0], *writers]
    years = draw.sample(range(1990, 2023), 5)
    keys = draw.sample(range(100, 1000), 5)
    entries = [
        {
            "author": author, "year": year, "title": topic, "key": f"ref{key}",
            "kind": "book" if (number + seed) % 2 else "article",
        }
        for number, (author, year, topic, key) in enumerate(zip(authors, years, topics, keys, strict=True))
    ]  # fmt: skip
    where = {"book": "publisher = {Field Press}", "article": "journal = {Journal of Fields}"}
    texts = [
        f"@{each['kind']}{{{each['key']},\n  author = {{{each['author']}}},\n  title = {{{each['title']}}},\n"
        f"  {where[str(each['kind'])]},\n  year = {{{each['year']}}}\n}}\n"
        for each in entries
    ]
    draw.shuffle(texts)
    return {"text": "\n".join(texts), "wanted": entries[0], "near": entries[1]}


def block(paper: dict[str, Any], at: int) -> str:
    """A section of a paper, from 0: its heading and its sentences."""
    lines = [rf"\section{{{paper['sections'][at]}}}", *paper["sentences"][at]]
    return "\n".join(lines) + "\n\n"


_BREAK = "\\newpage\n"


def paged(text: str, seed: int) -> str:
    """A paper with breaks of the page before some of its sections."""
    draw = random.Random(f"paged {seed}")
    for name in _SECTIONS:
        text = text.replace(rf"\section{{{name}}}", _BREAK * draw.randint(0, 1) + rf"\section{{{name}}}")
    return text


def page(text: str, name: str) -> int:
    """The page of a section of such a paper, each part of which fits on one page."""
    return 1 + text.partition(rf"\section{{{name}}}")[0].count(_BREAK)


def line_of(text: str, at: int) -> str:
    """The line of this number, from 1."""
    return text.splitlines()[at - 1]


def cut(text: str, at: int) -> str:
    """A text without the line of this number."""
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: at - 1], *lines[at:]])


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"texstudio.{function.__name__}": function
    for function in (block, cut, edit, everywhere, line, line_of, page, paged, paper, pick, references)
}
"""By the names that task files use."""
