"""Attacks without a trick: what others are right with, everything at once, and answers that fit everywhere."""

from __future__ import annotations

import re

from deskgym.task_suites.core.verify.attacks.base import Attack, Play, Target, Texts, attack, until_lost

CONSTANTS = ("0", "1", "-1", "yes", "no", "true", "none", "None", "nan", "*", "")
"""Answers that need no look at the screen."""


@attack("gold of another seed", lambda target: bool(target.others))
def other_gold(target: Target, play: Play) -> Texts:
    """Solve another instance of the same template here."""
    yield from until_lost(play(target.others[0].oracle))
    yield from _end(target)


@attack("everything at once", lambda target: bool(target.others) and target.end == "done")
def everything(target: Target, play: Play) -> Texts:
    """Solve this instance, and others on top of it: a check that only looks for its own result lets that pass."""
    for task in (target.task, *target.others):
        if not (yield from until_lost(play(task.oracle))):
            yield "FAIL"  # one result hides what the next one needs: all at once cannot be had
    yield "DONE"


@attack("DONE at once", lambda target: target.end != "done")
def done(target: Target, play: Play) -> Texts:
    """Say DONE where an answer or FAIL is right."""
    yield "DONE"


@attack("FAIL at once", lambda target: target.end != "fail")
def fail(target: Target, play: Play) -> Texts:
    """Say that a task cannot be done that can."""
    yield "FAIL"


@attack("solved, then FAIL", lambda target: target.end == "done")
def solved_fail(target: Target, play: Play) -> Texts:
    """Have both: the right state, and the claim that there is none."""
    yield from until_lost(play(target.task.oracle))
    yield "FAIL"


@attack("the instruction as answer")
def instruction(target: Target, play: Play) -> Texts:
    """Answer with all that was asked: a check that searches finds its words in it."""
    yield f"ANS {' '.join(target.task.instruction.split())}"


@attack("all texts as answer", lambda target: target.end == "answer")
def all_texts(target: Target, play: Play) -> Texts:
    """Answer with everything that the task consists of, the right answer among it, and with many numbers."""
    yield f"ANS {' '.join([*' '.join(target.texts).split(), *map(str, range(100))])}"


@attack("a number of the question", lambda target: target.end == "answer" and bool(_numbers(target)), True)
def number(target: Target, play: Play) -> Texts:
    """Answer with the last number of the instruction."""
    yield f"ANS {_numbers(target)[-1]}"


def _numbers(target: Target) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", target.task.instruction)


def _end(target: Target) -> Texts:
    yield "ANS " + " ".join(target.others[0].instruction.split()) if target.end == "answer" else "DONE"


def _constant(text: str) -> Attack:
    def say(target: Target, play: Play) -> Texts:
        """Answer always the same."""
        yield f"ANS {text}".rstrip()

    return Attack(f"answer {text!r}", say, lambda target: target.end == "answer", True)


ATTACKS = (
    other_gold, everything, done, fail, solved_fail, instruction, all_texts, number, *map(_constant, CONSTANTS)
)  # fmt: skip
