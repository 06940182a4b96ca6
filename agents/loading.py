"""Agents by name, as the command line and configuration files write them."""

from __future__ import annotations

import sys
from importlib import import_module
from os import getcwd

from deskgym.agents.base import Agent
from deskgym.agents.constant import ConstantAgent
from deskgym.agents.random_agent import RandomAgent
from deskgym.agents.scripted import AttackAgent, MutantAgent, NoopAgent, OracleAgent, WrongAgent
from deskgym.envs.errors import near
from deskgym.envs.options import checked

NAMES = ("oracle", "random", "noop", "wrong:NAME", "mutant:NAME", "attack:NAME", "constant:TEXT", "module:Class")
"""What ``make_agent`` takes."""


@checked
def make_agent(name: str, seed: int = 0) -> Agent:
    """An agent by its name.

    Args:
        name: ``"oracle"``, ``"noop"``, ``"random"``, ``"wrong:NAME"`` for the task's wrong attempt of that name,
            ``"mutant:NAME"`` for its oracle with that change, ``"attack:NAME"`` for an attack on it,
            ``"constant:TEXT"`` for one that always answers so (``"constant:A"``; ``"constant:unanswerable"`` takes the
            option that says that there is no answer), or ``"module:Class"`` for one of your own, imported from the
            current folder or an installed package.
        seed: for the random agent.

    Raises:
        ValueError: there is no such agent; the message says what is legal.
    """
    if name == "oracle":
        return OracleAgent()
    if name == "noop":
        return NoopAgent()
    if name == "random":
        return RandomAgent(seed)
    module, _, attribute = name.partition(":")
    if not (module and attribute):
        hint = near(name, ("oracle", "random", "noop"))
        raise ValueError(f"unknown agent {name!r}; legal are {', '.join(NAMES)}{hint}")
    if module == "wrong":
        return WrongAgent(attribute)
    if module == "mutant":
        return MutantAgent(attribute)
    if module == "attack":
        return AttackAgent(attribute)
    if module == "constant":
        return ConstantAgent(attribute)
    return _own_agent(name, module, attribute)


def _own_agent(name: str, module: str, attribute: str) -> Agent:
    if getcwd() not in sys.path:
        sys.path.insert(0, getcwd())
    try:
        made = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not (module + ".").startswith(error.name + "."):
            raise  # the module is there, but something that it imports is not
        hint = near(name, (f"constant:{attribute}", f"wrong:{attribute}"))
        legal = ", ".join(NAMES)
        raise ValueError(f"agent {name!r}: there is no module {error.name!r}; legal are {legal}{hint}") from error
    except (AttributeError, TypeError) as error:  # the second is of a module's name that begins with a dot
        raise ValueError(f"agent {name!r}: {error}") from error
    if not callable(made):
        raise ValueError(
            f"agent {name!r} is a {type(made).__name__}; legal is a class, or a function that gives an agent"
        )
    agent = made()
    if not isinstance(agent, Agent):
        raise ValueError(f"agent {name!r} needs the methods reset(env, observation, info) and act(observation)")
    return agent
