"""Verify: play what has no fresh proof; oracles must earn 1, doing nothing and wrong attempts 0. Keeps a ledger."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module

from deskgym.cli.options import add_env, add_tasks, seed_number

Command = Callable[[argparse.Namespace], int]
MODES = {
    "check": "deskgym.cli.verify_check:check",
    "release": "deskgym.cli.verify_check:check",
    "replay": "deskgym.cli.verify_replay:replay",
    "mutants": "deskgym.cli.mutants:play_mutants",
    "choices": "deskgym.cli.choices:play_choices",
    "attack": "deskgym.cli.attacks:play_attacks",
    "blind": "deskgym.cli.blind:play_blind",
}
"""What is done instead of playing what has no fresh proof: option → function."""
FOR_ALL = ("check", "release", "replay")
"""The modes that take all suites where none is named."""
ONLY_WITH = {"only": "attack", "plan": "replay", "shares": "replay", "turn": "replay", "minutes": "replay"}
"""Options that one mode has."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, its tasks, which of them, how often and where."""
    add_tasks(parser, suite_needed=False)
    parser.add_argument("--task", metavar="GLOB", help="a task id or a glob over ids (default: all)")
    parser.add_argument("--resets", type=int, metavar="N", help="episodes per attempt (default: 3; of a mutant 1)")
    parser.add_argument(
        "--seed", type=seed_number, metavar="S", help="the first reset's seed (default: 0), or the sample's"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that play at once (default: 1)")
    parser.add_argument("--all", action="store_true", help="play the tasks too whose proof in the ledger is fresh")
    parser.add_argument(
        "--sample", type=float, metavar="SHARE", help="play a random share of the tasks; of attacks also so many"
    )
    parser.add_argument("--strict-versions", action="store_true", help="other versions of packages end a proof too")
    parser.add_argument(
        "--retry", action="store_true", help="play once more, alone, what may be a busy machine's fault"
    )
    parser.add_argument("--only", metavar="GLOB", help="with --attack: the attacks of these names")
    parser.add_argument("--plan", action="store_true", help="with --replay: print what would be played, play nothing")
    parser.add_argument("--shares", type=int, metavar="N", help="with --replay: N turns play everything (default: 16)")
    parser.add_argument("--turn", type=int, metavar="K", help="with --replay: which share (default: by the date)")
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="with --replay: what further users of a symbol may take (default: 6)"
    )
    _add_modes(parser.add_mutually_exclusive_group())
    add_env(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_modes(instead: argparse._MutuallyExclusiveGroup) -> None:
    instead.add_argument("--check", action="store_true", help="play nothing: fail where a task has no proof of its own")
    instead.add_argument("--release", action="store_true", help="play nothing: fail where a proof is not fresh")
    instead.add_argument(
        "--replay", action="store_true", help="play some users of each changed symbol, and a share of all tasks"
    )
    instead.add_argument("--mutants", action="store_true", help="play every oracle with a change, which must earn 0")
    instead.add_argument(
        "--choices", action="store_true", help="play oracles with those values of choices that no proof has played"
    )
    instead.add_argument("--attack", action="store_true", help="play the red team's attacks, which must earn 0")
    instead.add_argument("--blind", action="store_true", help="try rules that choose options without the data")
    instead.add_argument("--rescore", metavar="DIR", help="score the episodes recorded in DIR again instead of playing")


def run(arguments: argparse.Namespace) -> int:
    """Verify; 0 when everything is as it must be."""
    if arguments.rescore is not None:
        from deskgym.cli.rescoring import rescore_all

        return rescore_all(arguments.rescore, arguments.path, arguments.json)
    mode = next((name for name in MODES if getattr(arguments, name)), "")
    _refuse_illegal(arguments, mode)
    if not mode:
        from deskgym.cli.verify_play import play

        return play(arguments)
    module, _, name = MODES[mode].partition(":")
    command: Command = getattr(import_module(module), name)
    return command(arguments)


def _refuse_illegal(arguments: argparse.Namespace, mode: str) -> None:
    """Raise ValueError where options do not go together."""
    if arguments.suite is None and mode not in FOR_ALL:
        raise ValueError("verify needs a SUITE, or --check, --replay, --release or --rescore DIR")
    for option in ("resets", "workers", "shares"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise ValueError(f"--{option} {value}; legal is a number from 1 up")
    sample = arguments.sample
    if sample is not None and not (0 < sample <= 1 or (arguments.attack and sample > 1 and sample.is_integer())):
        raise ValueError(f"--sample {sample:g}; legal is a share above 0, up to 1; with --attack also a whole number")
    if sample is not None and mode in ("check", "release", "replay", "mutants", "blind"):
        raise ValueError(f"--sample {sample:g} beside --{mode}; legal is --sample alone, with --choices or --attack")
    for option, wanted in ONLY_WITH.items():
        value = getattr(arguments, option)
        if value not in (None, False) and mode != wanted:
            told = f"--{option}" if value is True else f"--{option} {value}"
            raise ValueError(f"{told}; legal with --{wanted}")
