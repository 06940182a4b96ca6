"""How much memory there is for more machines: the host's, or what a container's control group leaves of it."""

from __future__ import annotations

from pathlib import Path

import psutil

from deskgym.envs.machines.sandbox.limits import CGROUPS, own_cgroups

_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")


def available_memory() -> int:
    """Bytes that new processes can have without swapping, in this process's control groups too."""
    groups = own_cgroups()
    host = int(psutil.virtual_memory().available)
    unified = "memory" not in groups
    root = CGROUPS if unified else CGROUPS / "memory"
    return min([host, *group_leaves(root, groups.get("" if unified else "memory", "/"), unified)])


def group_leaves(root: Path, path: str, unified: bool) -> list[int]:
    """What each control group from ``root`` down to ``path`` leaves, in bytes; nothing for those without a limit.

    A container sees its own group as the root, and may still be told the host's path of it: what is not there counts
    as not being there. File pages that were not used lately can be had back, and count as free.

    Args:
        root: where the groups are mounted.
        path: the group, as in /proc/self/cgroup.
        unified: whether they are version 2.
    """
    limit_name, usage_name, reclaimable = _V2 if unified else _V1
    left = []
    below = (root / path.lstrip("/")).relative_to(root)
    for folder in (root / part for part in (below, *below.parents)):
        try:
            limit = (folder / limit_name).read_text().strip()
            usage = int((folder / usage_name).read_text())
            lines = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        if limit.isdigit():
            left.append(max(int(limit) - usage + int(lines.get(reclaimable, 0)), 0))
    return left
