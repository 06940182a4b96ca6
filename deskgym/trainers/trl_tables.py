"""TRL: a conversation about tables as tools for ``GRPOTrainer(environment_factory=...)``; see ``deskgym.trainers.trl``.

Examples:
    >>> rows = table_rows("*/*/normal/*", seeds=range(2), split="train")
    >>> rows[1]["task"], rows[1]["split"], rows[1]["seed"]
    ('*/*/normal/*', 'train', 1)
    >>> factory = table_environment()
    >>> trainer = GRPOTrainer(
    ...     model, environment_factory=factory, train_dataset=Dataset.from_list(rows)
    ... )  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from gymnasium.envs.registration import EnvSpec
from PIL import Image

from deskgym.envs.action.actions import RefusedAction
from deskgym.envs.errors import ActionError
from deskgym.envs.observation.texts import cut_text
from deskgym.envs.options import checked
from deskgym.task_suites.table_analysis.env import TableAnalysisEnv
from deskgym.trainers.tools import Seen, ToolEnv, rows

PROMPT = (
    "You analyse tables for a user with the tools. The tables are variables of a Python kernel with pandas (pd), numpy "
    "(np) and matplotlib.pyplot (plt), and the code of the conversation so far has run there. Put the results into the "
    "variables that the user names, then call done; where the user gives options, call answer with a letter."
)
"""The prompt of ``table_rows``; ``reset`` adds the conversation, the tables and the question."""

_HEADINGS = {"dialogue": "The conversation so far", "tables": "The tables", "library": "The library to use"}
_BLANK = 255  # the plot where there is no figure is white all over


class TableToolEnv(ToolEnv):
    """A turn, or with ``episode="dialogue"`` a dialogue, by tools; use ``table_environment``.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        image: give the figure too, where there is one (for models that see).
        text_limit: characters of each text: of the conversation, the tables, the library, and what a call printed.
        options: as of ``ToolEnv``, and of the env, such as ``task``, ``episode``, ``user``.
    """

    _form: ClassVar[str] = "code"
    _plays: ClassVar[type[Any]] = TableAnalysisEnv
    _seen: ClassVar[tuple[str, ...]] = ("instruction", "dialogue", "tables", "library", "feedback")
    _picture: ClassVar[str] = "plot"

    @checked
    def __init__(
        self,
        env_id: str | EnvSpec = "deskgym/TableAnalysis-v0",
        *,
        image: bool = False,
        text_limit: int = 12000,
        **options: Any,
    ) -> None:
        super().__init__(env_id, image=image, text_limit=text_limit, **options)

    # --- the tools

    def run_code(self, code: str) -> Seen:
        """Run Python code; you get what it prints, the value of its last line, or its error. Variables are kept.

        Args:
            code: Python 3 with pandas as pd, numpy as np and matplotlib.pyplot as plt.
        """
        return self._step(code)

    def ask(self, question: str) -> Seen:
        """Ask the user about something that the request leaves open.

        Args:
            question: one question.
        """
        return self._step(f"ASK {question.strip()}" if _says(question) else _empty("question", question))

    def answer(self, letter: str) -> Seen:
        """Answer a request that gives options; this ends the turn.

        Args:
            letter: of the right option, such as "B".
        """
        return self._step(f"ANS {letter.strip()}" if _says(letter) else _empty("letter", letter))

    def done(self) -> Seen:
        """End the turn: the results are in the variables that the user named."""
        return self._step("DONE")

    # --- internals

    def _beginning(self) -> str:
        known = [f"{title}:\n{self._cut(name)}" for name, title in _HEADINGS.items() if self._part(name)]
        return "\n\n" + "\n\n".join((*known, f"The user asks: {self._part('instruction')}"))

    def _after(self, asked: str) -> str:
        if self._part("instruction") != asked:  # of a dialogue
            return f"That turn is over.\n\nThe user asks: {self._part('instruction')}"
        return self._cut("feedback") or "(no output)"

    def _cut(self, name: str) -> str:
        return cut_text(self._part(name), self._text_limit)

    def _content(self, text: str) -> Seen:
        if not self._image:
            return text
        plot = self._session.observation["plot"]
        figure = [{"type": "image", "image": Image.fromarray(plot)}] if (plot != _BLANK).any() else []
        return [{"type": "text", "text": text}, *figure]


def _says(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _empty(name: str, got: object) -> RefusedAction:
    return RefusedAction(ActionError(f"{name}={got!r}; legal is a text"))


def table_environment(env_id: str | EnvSpec = "deskgym/TableAnalysis-v0", **options: Any) -> partial[TableToolEnv]:
    """A factory for ``GRPOTrainer(environment_factory=...)``; it can be pickled, for trainers with worker processes.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        options: see ``TableToolEnv``.

    Raises:
        ValueError, TaskError, TypeError: an option is not legal; the env's own are checked now, too.
    """
    factory = partial(TableToolEnv, env_id, **options)
    factory()
    return factory


def table_rows(
    tasks: str | Sequence[str], *, seeds: Iterable[int], split: str | None = None, prompt: str = PROMPT
) -> list[dict[str, Any]]:
    """As ``deskgym.trainers.trl.task_rows``, with a prompt for conversations about tables.

    Args:
        tasks: task ids or globs, such as ``"*/*/normal/*"``.
        seeds: one row each, for each of the tasks.
        split: ``"train"``, ``"test"`` or None for both.
        prompt: the user's message, to which ``reset`` adds the conversation, the tables and the question.
    """
    return rows(tasks, seeds, split, prompt)
