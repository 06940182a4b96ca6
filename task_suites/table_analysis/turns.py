"""What a turn of a dialogue is, with all parameters drawn, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Mode = Literal["normal", "action", "private", "private-action"]
ActionType = Literal[
    "", "update_code", "fast_fail", "clarification", "best_guess", "plot_qa", "insight_mining"
]  # fmt: skip
ResultType = Literal[
    "dataframe", "series", "list", "dict", "tuple", "value", "plot", "function", "model", "choice", "unanswerable"
]

MODES: tuple[Mode, ...] = ("normal", "action", "private", "private-action")
CHOICE_ACTIONS: tuple[ActionType, ...] = ("fast_fail", "best_guess", "plot_qa", "insight_mining")
"""Action types that are answered by a letter; the others by code (Tapilot-Crossing, section 3)."""
CODE_ACTIONS: tuple[ActionType, ...] = ("update_code", "clarification")
ACTION_TYPES: tuple[ActionType, ...] = CODE_ACTIONS + CHOICE_ACTIONS
CODE_RESULTS: tuple[ResultType, ...] = (
    "dataframe", "series", "list", "dict", "tuple", "value", "plot", "function", "model",
)  # fmt: skip
LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True)
class Intent:
    """One result that a query asks for.

    Attributes:
        name: the variable that it must be in; ``"choice"`` for a letter.
        kind: its result type.
        probes: for a function a Python expression of argument tuples, for a model one of the rows to predict;
            evaluated after the reference, where results are compared; ``rng`` is a generator of that evaluation.
        truth: for a model, an expression of the true values of those rows.
        metric: for a model: ``"r2"``, ``"accuracy"`` or ``"f1"``.
        options: of the comparator, such as ``{"rtol": 1e-3}``.
    """

    name: str
    kind: ResultType
    probes: str = ""
    truth: str = ""
    metric: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """Something that the user knows and tells only when asked for it.

    Attributes:
        about: words and phrases by which a question is about it, lower case.
        answer: what the user says.
    """

    about: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class Choice:
    """A question with options.

    Attributes:
        options: their texts, at most ten; option k has the letter ``LETTERS[k]``.
        right: index of the right one.
        mistakes: for each option the analysis that leads to it; ``""`` for the right one.
    """

    options: tuple[str, ...]
    right: int
    mistakes: tuple[str, ...] = ()

    @property
    def letter(self) -> str:
        """The right letter."""
        return LETTERS[self.right]

    def text(self) -> str:
        """The options, a line each, such as ``A. 12.4``."""
        return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, self.options, strict=False))


@dataclass(frozen=True)
class Past:
    """A turn of the history: what was asked, and what was done about it.

    Attributes:
        query: the user's words.
        code: what ran in the kernel; ``""`` where nothing did.
        answer: what was said, such as the text of the chosen option; ``""`` where only code answered.
        plot: the code leaves a figure that the observation shows.
        runs: the code is run; False for a plot of the past that nothing later needs, which is only shown as text.
    """

    query: str
    code: str
    answer: str = ""
    plot: bool = False
    runs: bool = True


@dataclass(frozen=True)
class Turn:
    """One turn, all parameters drawn.

    Attributes:
        id: such as ``"penguins/ines/normal/mean-mass#17"``.
        domain: name of the domain.
        variant: of its tables.
        persona: who asks.
        goal: what for.
        mode: one of ``MODES``.
        action: one of ``ACTION_TYPES``, or ``""``.
        query: the user's words.
        intents: what is asked for, in order.
        history: the turns before, in order: the reference's.
        code: the reference's code; for a choice what an analyst would run before answering, maybe ``""``.
        wrong: code that must not earn the reward, by name; for choices empty.
        choice: the options, for a choice.
        facts: what the user tells when asked.
        library_seed: of the private library, or None in other modes.
        seed: of the instance.
        split: ``"train"`` or ``"test"``.
        difficulty: ``"easy"``, ``"medium"`` or ``"hard"``.
        title: of the dialogue.
        params: the drawn parameters.
    """

    id: str
    domain: str
    variant: int
    persona: str
    goal: str
    mode: Mode
    action: ActionType
    query: str
    intents: tuple[Intent, ...]
    history: tuple[Past, ...]
    code: str
    wrong: Mapping[str, str]
    choice: Choice | None = None
    facts: tuple[Fact, ...] = ()
    library_seed: int | None = None
    seed: int = 0
    split: str = "train"
    difficulty: str = "medium"
    title: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IntentOutcome:
    """How one intent came out.

    Attributes:
        name: of the intent.
        kind: its result type.
        correct: whether the result is right.
        message: what was expected and what was found.
    """

    name: str
    kind: str
    correct: bool
    message: str = ""


@dataclass(frozen=True)
class Outcome:
    """How one turn came out: what the metrics are computed from. ``info["analysis"]["turns"]`` holds its ``to_dict``.

    Attributes:
        turn: the turn's id.
        domain: name of the domain.
        mode: one of ``MODES``.
        action: one of ``ACTION_TYPES``, or ``""``.
        intents: one per intent.
        recall: share of the reference's private functions that the agent's code calls; None outside private modes.
        executed: the agent's code of this turn, in order.
        reference: the reference's code (over the private library in private modes).
        answer: what the agent answered, or None.
        right: the right letter of a choice, or None.
        options: how many options there were.
        asked: the agent's questions.
        error: why it could not be judged, or None; such turns count for nobody.
    """

    turn: str
    domain: str
    mode: str
    action: str
    intents: tuple[IntentOutcome, ...]
    recall: float | None = None
    executed: tuple[str, ...] = ()
    reference: str = ""
    answer: str | None = None
    right: str | None = None
    options: int = 0
    asked: tuple[str, ...] = ()
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Outcome:
        """The inverse of ``to_dict``.

        Raises:
            ValueError: it is something else.
        """
        try:
            intents = tuple(IntentOutcome(**intent) for intent in data["intents"])
            texts = {name: _texts(data[name]) for name in ("executed", "asked") if name in data}
            return cls(**{**data, **texts, "intents": intents})
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the outcome of a turn ({type(error).__name__}: {error}): {data!r}") from error


def _texts(data: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(str, data))
