"""How checks are collected and run, and what several of them ask of a machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deskgym.envs.errors import GuestCallError
from deskgym.envs.machines.base import Machine, MachineConfig

Factory = Callable[[MachineConfig], Machine]
Check = Callable[[Factory], None]

CHECKS: list[Check] = []
LARGE = 20 << 20
HEADLESS = MachineConfig(screen_size=None)


class NotApplicable(Exception):
    """The machine declares that it does not do this."""


def check(function: Check) -> Check:
    """Add a function to ``CHECKS``."""
    CHECKS.append(function)
    return function


def name_of(function: Check) -> str:
    """A check's name, for ``pytest.mark.parametrize(ids=...)``."""
    return function.__name__


def run_check(function: Check, factory: Factory) -> None:
    """Run one check; skips the test where the machine declares that it does not apply."""
    try:
        function(factory)
    except NotApplicable as reason:
        import pytest

        pytest.skip(str(reason))


def raises(kind: type[BaseException], function: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseException:
    """The error that a call raises. Raises AssertionError if it raises none."""
    try:
        function(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"{getattr(function, '__name__', function)}{args} raised no {kind.__name__}")


def home(machine: Machine) -> str:
    """A fresh folder that belongs to the agent: machines need not agree on where its home is."""
    return machine.run(["pwd"]).stdout.decode().strip()


def count_sleepers(machine: Machine) -> int:
    """How many ``sleep 4711`` run in it."""
    count = 0
    for entry in machine.guest.list("/proc"):
        if entry["name"].isdecimal():
            try:
                count += machine.get(f"/proc/{entry['name']}/cmdline") == b"sleep\0004711\0"
            except GuestCallError:  # it has ended, or is not ours to see
                continue
    return count


def count_processes(machine: Machine, user: str = "agent") -> int:
    """How many processes can be seen in it, but for the kernel's own threads, which have no command line."""
    sizes = machine.run(["sh", "-c", "wc -c /proc/[0-9]*/cmdline"], user=user).stdout.decode().splitlines()
    return sum(line.split()[0] != "0" for line in sizes if not line.endswith(" total"))


def require_can(machine: Machine, what: str) -> None:
    """Raise NotApplicable where the machine declares that it cannot do this; see ``Machine.can``."""
    if what not in machine.can:
        raise NotApplicable(f"a {machine.kind} machine declares that it cannot do {what}")


def require_limit(machine: Machine, limit: str) -> None:
    """Raise NotApplicable where the machine declares that it does not enforce this; see ``Machine.enforces``."""
    if limit not in machine.enforces:
        raise NotApplicable(f"a {machine.kind} machine declares that it does not limit {limit}")
