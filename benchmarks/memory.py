"""How much memory an idle desktop takes: the proportional share (PSS) of each of its processes."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import Machine, MachineConfig

IDLE_SIZE = (1280, 720)
SETTLE = 1.0  # seconds

# builtins only, so that nothing else runs meanwhile whose pages the desktop's processes would share
_READ_ALL = """
for p in /proc/[0-9]*; do
  [ "$p" = "/proc/$$" ] && continue
  read -r name < "$p/comm" && echo "= ${p#/proc/} $name"
  while IFS= read -r line; do echo "$line"; done < "$p/smaps_rollup"
done
"""
_FIELDS = {"Rss": "rss", "Pss": "pss", "Pss_Shmem": "pss_shared_memory"}
_OWN = ("Private_Clean", "Private_Dirty")


def measure_memory(size: tuple[int, int] = IDLE_SIZE) -> dict[str, Any]:
    """Start a sandbox, let it idle, and read what its processes take, in MiB (1024 KiB)."""
    with create_machine("sandbox", MachineConfig(screen_size=size)) as machine:
        time.sleep(SETTLE)
        processes = read_machine(machine)
        return {
            "screen_size": list(size),
            "pss": _total(processes, "pss"),
            "private": _total(processes, "private"),
            "rss": _total(processes, "rss"),
            "processes": processes,
            "supervisor_pss": read_host(),
        }


def read_machine(machine: Machine) -> list[dict[str, Any]]:
    """Each process of a machine, the largest first."""
    done = machine.run(["/bin/sh", "-c", _READ_ALL], user="guest")
    processes = []
    for block in done.stdout.decode(errors="replace").split("= ")[1:]:
        head, *lines = block.splitlines()
        pid, name = head.split(" ", 1)
        if name.startswith("python"):
            name = "guest" if pid == "1" else "code executor"
        processes.append({"name": name, **_parse(lines)})
    return sorted(processes, key=lambda process: -process["pss"])


def read_host() -> float:
    """What our helper processes on the host take: one supervisor for all sandboxes of a process."""
    namespace = os.readlink("/proc/self/ns/pid")
    total, todo = 0.0, [os.getpid()]
    while todo:
        for task in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            for child in task.read_text().split():
                try:
                    if os.readlink(f"/proc/{child}/ns/pid") == namespace:
                        total += _parse(Path(f"/proc/{child}/smaps_rollup").read_text().splitlines())["pss"]
                        todo.append(int(child))
                except OSError:
                    continue  # it has ended, or belongs to another user
    return round(total, 1)


def _parse(lines: list[str]) -> dict[str, float]:
    """The fields of a smaps_rollup, in MiB."""
    numbers = {m[1]: int(m[2]) / 1024 for line in lines if (m := re.match(r"(\w+):\s+(\d+) kB", line))}
    found = {ours: round(numbers.get(theirs, 0.0), 1) for theirs, ours in _FIELDS.items()}
    return {**found, "private": round(sum(numbers.get(name, 0.0) for name in _OWN), 1)}


def _total(processes: list[dict[str, Any]], field: str) -> float:
    return round(float(sum(process[field] for process in processes)), 1)
