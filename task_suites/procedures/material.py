"""What tasks about procedures are made of: workflows with their recordings and procedures, rankings, questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.task_suites.bpm.demonstration import Demonstration
from deskgym.task_suites.bpm.demonstration_text import action_in_words


class Moment(NamedTuple):
    """A state of a recording, and what was done to come there.

    Attributes:
        picture: of the state.
        action: in words; None for the first state.
    """

    picture: Path
    action: str | None


@dataclass(frozen=True)
class Workflow:
    """Something that somebody does with an application.

    Attributes:
        name: of its demonstration, such as ``"179 @ 2023-12-28-11-13-06"``.
        intent: what it is for, in a sentence.
        site: the application, as the benchmark calls it; "" where that is not known.
        procedure: the text of the right procedure; None where there is none.
        draft: of another one that could be better; None where there is none.
        folder: of the recording; None where there is none.
        is_right: whether its procedure is one to judge others by.
        template: the task of ours that it is of; "" where it is of none.
        params: what was drawn for that.
    """

    name: str
    intent: str
    site: str = ""
    procedure: str | None = None
    draft: str | None = None
    folder: Path | None = None
    is_right: bool = True
    template: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Its name in a task's id, where # has a meaning of its own."""
        return self.name.replace("#", ".")

    @property
    def task_id(self) -> str:
        """The workflow that was done; several demonstrations may have done the same."""
        return self.name.partition(" @ ")[0]

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """The recording.

        Raises:
            TaskError: there is none, or it lacks a picture.
            DemonstrationError: it cannot be read.
        """
        if self.folder is None:
            raise TaskError(f"there is no recording of {self.name!r}")
        found = Demonstration.load(self.folder)
        pictures = [found.screenshot(number) for number in range(len(found.states))]
        if missing := [path for path in pictures if not path.is_file()]:
            raise TaskError(f"the recording {self.folder} has no {missing[0].relative_to(self.folder)}")
        return tuple(map(Moment, pictures, [None, *map(action_in_words, found.actions)]))


@dataclass(frozen=True)
class Ranking:
    """Procedures of one workflow that people have ranked.

    Attributes:
        task_id: the workflow.
        intent: what it is for.
        procedures: the texts.
        ranks: of each; 1 is the best.
    """

    task_id: str
    intent: str
    procedures: tuple[str, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Question:
    """A question about workflows.

    Attributes:
        number: of the question, from 1.
        text: of it.
        workflows: the names of those that it is about.
        evidence: of each: whether its procedure is shown, or else its recording.
        answer: a right one, in a few sentences.
        template: what kind of question it is.
    """

    number: int
    text: str
    workflows: tuple[str, ...]
    evidence: tuple[bool, ...]
    answer: str
    template: str


@dataclass(frozen=True)
class Material:
    """All that tasks are made of.

    Attributes:
        source: where it comes from, with its licence.
        workflows: by name.
        rankings: by workflow.
        questions: in order.
    """

    source: str
    workflows: Mapping[str, Workflow]
    rankings: Mapping[str, Ranking] = field(default_factory=dict)
    questions: Sequence[Question] = ()

    def workflow(self, name: str) -> Workflow:
        """A workflow by its name. Raises TaskError where there is none."""
        if name not in self.workflows:
            raise TaskError(unknown("demonstration", name, self.workflows))
        return self.workflows[name]

    @cached_property
    def recorded(self) -> list[Workflow]:
        """Those that have a recording, by name."""
        return [self.workflows[name] for name in sorted(self.workflows) if self.workflows[name].folder is not None]
