"""Agents with a model by name, as the command line writes them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deskgym.envs.errors import near

if TYPE_CHECKING:
    from deskgym.agents.llm.base import LLMAgent
    from deskgym.agents.llm.model import Model
    from deskgym.task_suites.suites import SuiteEntry

WORD = "llm"
"""``--agent llm`` is the suite's usual agent; ``llm:gui`` one of ``KINDS``."""

KINDS: Mapping[str, str] = {
    "gui": "deskgym.agents.llm.gui:GUIAgent",
    "seeact": "deskgym.agents.llm.seeact:SeeActAgent",
    "disentangled": "deskgym.agents.llm.disentangled:DisentangledAgent",
    "computer_use": "deskgym.agents.llm.computer_use:ComputerUseAgent",
    "table": "deskgym.agents.llm.table:TableAgent",
    "procedures": "deskgym.agents.llm.procedures:ProcedureAgent",
    "proving": "deskgym.agents.llm.prover:ProverAgent",
}
"""By name: where its class is."""


SCREEN = ("gui", "seeact", "disentangled", "computer_use")
"""The kinds that play suites with a screen; another suite has one."""


def usual(entry: SuiteEntry) -> str:
    """The kind that plays a suite unless another is asked for."""
    return "gui" if entry.display else {"table_analysis": "table"}.get(entry.name, entry.name)


def kind_of(agent: str, entry: SuiteEntry) -> str | None:
    """The kind that ``--agent`` names; None where it names no agent with a model.

    Raises:
        ValueError: there is no such kind.
    """
    word, _, kind = agent.partition(":")
    if word != WORD:
        return None
    legal = SCREEN if entry.display else (usual(entry),)
    kind = kind or usual(entry)
    if kind not in KINDS:
        raise ValueError(f"agent '{WORD}:{kind}'; legal are {', '.join(legal)}{near(kind, legal)}")
    if kind not in legal:
        raise ValueError(f"agent '{WORD}:{kind}' does not play {entry.name!r}; legal there are {', '.join(legal)}")
    return kind


def maker(kind: str, options: Sequence[str] = ()) -> Callable[[Model], LLMAgent]:
    """What makes agents of a kind.

    Args:
        kind: of ``KINDS``.
        options: arguments of its class as ``NAME=VALUE``; a value is JSON, or else a text.

    Raises:
        ValueError: there is no such argument, or it is written otherwise.
    """
    module, _, name = KINDS[kind].partition(":")
    made: Callable[..., LLMAgent] = getattr(import_module(module), name)
    legal = [each for each in inspect.signature(made).parameters if each != "model"]
    values: dict[str, Any] = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or key not in legal:
            takes = ", ".join(legal) or "none"
            raise ValueError(
                f"{text!r} is no option of the agent {kind!r}; legal are NAME=VALUE of {takes}{near(key, legal)}"
            )
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value

    def make(model: Model) -> LLMAgent:
        agent = made(model, **values)
        agent.options = values
        return agent

    return make
