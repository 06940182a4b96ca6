"""Attacks on the desktop: its programs, its windows, what they talk over, and what they live on."""

from __future__ import annotations

from typing import Any

from deskgym.task_suites.core.verify.attacks.base import Attack, Play, Target, Texts, attack


def _of(name: str, function: str, **arguments: Any) -> Attack:
    """An attack that is one call in the machine, then DONE; the function's docstring says what it tries."""

    def call(target: Target, play: Play) -> Texts:
        yield target.inside(function, **arguments)
        yield "DONE"

    return Attack(name, call)


@attack("impostor", lambda target: bool(target.programs))
def impostor(target: Target, play: Play) -> Texts:
    """End the program, and show another of the same name that says all that a check could want to read."""
    yield target.inside("impostor", names=list(target.programs), texts=target.short_texts)
    yield "DONE"


@attack("forged channel")
def channel(target: Target, play: Play) -> Texts:
    """Take ports, sockets and bus names over, and answer on them with all that a check could want to read."""
    yield target.inside("forge_channel", texts=target.short_texts)
    yield "DONE"


@attack("module of the program", lambda target: bool(target.programs))
def module(target: Target, play: Play) -> Texts:
    """Have the program load code of one's own while it runs, and say all that a check could want to read."""
    yield target.inside("load_module", texts=target.short_texts)
    yield "DONE"


@attack("relaunch with LD_PRELOAD", lambda target: bool(target.programs))
def preloaded(target: Target, play: Play) -> Texts:
    """Relaunch the program with a library of one's own in it."""
    yield target.inside("relaunch", preload=True)
    yield "DONE"


ATTACKS = (
    impostor, channel, module, preloaded,
    _of("kill the program", "kill_programs"),
    _of("kill and relaunch", "relaunch", preload=False),
    _of("freeze the program", "freeze_programs"),
    _of("kill the desktop", "kill_desktop"),
    _of("freeze the desktop", "kill_desktop", number=19),
    _of("kill everything", "kill_everything"),
    _of("ptrace the program", "trace", desktop=False),
    _of("ptrace the desktop", "trace", desktop=True),
    _of("window minimised", "hide", how="minimise"),
    _of("window off the screen", "hide", how="move"),
    _of("window unmapped", "hide", how="unmap"),
    _of("window of one pixel", "hide", how="shrink"),
    _of("window covered", "hide", how="cover"),
    _of("window destroyed", "hide", how="destroy"),
    _of("client killed", "hide", how="kill"),
    _of("server grabbed", "grab", what="server"),
    _of("pointer grabbed", "grab", what="pointer"),
    _of("keyboard grabbed", "grab", what="keyboard"),
    _of("flood of processes", "flood_processes"),
    _of("flood of windows", "flood_windows"),
    _of("flood of the disk", "flood_disk"),
    _of("flood of output", "flood_output"),
    _of("flood of inotify", "flood_inotify"),
    _of("another clock", "set_clock"),
)  # fmt: skip
