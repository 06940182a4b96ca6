"""What the sandboxes of this process share: users, limits and root file system."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

from deskgym.envs.guest import landlock
from deskgym.envs.machines.sandbox import snapshots
from deskgym.envs.machines.sandbox.host import machine_ids, require_tools
from deskgym.envs.machines.sandbox.limits import Limits, find_limits
from deskgym.envs.machines.sandbox.rootfs import RootFs, build_rootfs
from deskgym.envs.machines.userns import IdMap


class HostSetup:
    """What all sandboxes of this process with one runtime share."""

    def __init__(self, runtime: str) -> None:
        self.runtime = require_tools(runtime)
        self.ids: IdMap = machine_ids()
        self.options: list[str] = []
        self.limits: Limits = find_limits()
        if runtime == "crun":  # its control groups need another set-up than runc's on about every kind of host
            self.options = ["--cgroup-manager=disabled"]
            self.limits = replace(self.limits, cgroups=None)
        elif self.limits.cgroups is None and os.geteuid() == 0:
            self.options = ["--rootless=true"]  # else a failure to make control groups is fatal
        self.rootfs: RootFs = build_rootfs(self.ids)
        self.tmpfs_layers: bool = snapshots.tmpfs_has_user_attributes()


def enforced_limits() -> frozenset[str]:
    """What sandboxes keep on this host."""
    limits = find_limits()
    enforced = {"memory"}
    if limits.cgroups or limits.nproc:
        enforced.add("processes")
    if snapshots.tmpfs_has_user_attributes():
        enforced.add("disk")
    if landlock.available():
        enforced.add("program_isolation")
    return frozenset(enforced)


@cache
def find_setup(runtime: str) -> HostSetup:
    """The setup of this process's sandboxes with a runtime. Raises MachineError."""
    return HostSetup(runtime)
