"""The OCI configurations of a sandbox whose kernel is gVisor's: the container outside, and what runsc runs in it.

Outside is a container like every sandbox's, with its ids, layers and limits, whose PID 1 is runsc in place of the
guest. Inside, runsc shows the whole of it to the guest; what is written stays in gVisor's memory, so that a checkpoint
has it. The screen's file alone lies outside, where the host reads it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deskgym.envs.machines.sandbox.gvisor_calls import PRELOAD, build_calls
from deskgym.envs.machines.sandbox.limits import SHM_MB
from deskgym.envs.machines.sandbox.spec import (
    CAPABILITIES,
    FEW,
    GUEST_FD,
    Parts,
    bind,
    build_spec,
    guest_arguments,
    mount,
)

OUTSIDE = "/run/gvisor"
"""Where the container outside has runsc, its records, the screen and the folders of checkpoints."""
RECORDS, SCREEN, OWN, IMAGE = (f"{OUTSIDE}/{name}" for name in ("records", "screen", "own", "image"))
CALLS = "/opt/deskgym/calls"
CONTAINER = "desktop"
FRAMEBUFFER = "Xvfb_screen0"
CHECKPOINT, CONFIG = "checkpoint.img", "config.json"
FLAGS = ("--network=none", "--overlay2=root:memory", "--ignore-cgroups")

_STATE = "/run/deskgym"  # the guest's own folder, where it has X put the screen
_RUNSC = (*CAPABILITIES, "CAP_NET_ADMIN", "CAP_SETPCAP", "CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_SYS_RESOURCE")
_THREADS = 2
"""Threads of the host that a process in it takes at most, as a rule: runsc's own come on top."""
_OWN_THREADS = 256
LINGERING = 10  # seconds


def outer_spec(parts: Parts, program: str, platform: str, own: Path, image: Path | None) -> dict[str, Any]:
    """The content of ``config.json`` of the container outside.

    Args:
        parts: what it is made of.
        program: path of runsc on the host.
        platform: how gVisor intercepts system calls, or "" for what this runsc takes by itself.
        own: folder that has the inner configuration and takes a checkpoint.
        image: folder of the checkpoint that it goes on from, or None for a fresh start.
    """
    spec = build_spec(parts)
    width, height = parts.config.screen_size or (0, 0)
    calls = build_calls(CALLS)
    spec["process"] |= {
        "args": ["/bin/sh", "-c", _script(platform, image is not None)],
        "capabilities": {kind: list(_RUNSC) for kind in ("bounding", "effective", "permitted")},
    }
    spec["mounts"] += [
        mount(OUTSIDE, "tmpfs", "nosuid", "nodev", "mode=700", "size=16m", *FEW),
        mount(SCREEN, "tmpfs", "nosuid", "nodev", "mode=700", f"size={(width * height * 4 >> 20) + 2}m", *FEW),
        bind(program, f"{OUTSIDE}/runsc", "ro", "nosuid", "nodev"),
        bind(str(own), OWN, "rw", "nosuid", "nodev"),
        bind(str(calls), CALLS, "ro", "nosuid", "nodev"),
        bind(str(calls / PRELOAD), f"/etc/{PRELOAD}", "ro", "nosuid", "nodev"),
    ]
    if image is not None:
        spec["mounts"].append(bind(str(image), IMAGE, "ro", "nosuid", "nodev"))
    linux = spec["linux"]
    del linux["seccomp"]  # runsc's own is stricter, once it runs
    linux["maskedPaths"] = [path for path in linux["maskedPaths"] if not path.startswith("/proc/")]
    linux["readonlyPaths"] = []  # of a /proc that nothing in the machine sees
    if "resources" in linux:
        linux["resources"]["pids"] = {"limit": parts.config.processes * _THREADS + _OWN_THREADS}
    return spec


def inner_spec(parts: Parts) -> dict[str, Any]:
    """The content of the ``config.json`` that runsc runs."""
    outside = build_spec(parts)["process"]
    return {
        "ociVersion": "1.0.2",
        "process": outside | {"args": [*guest_arguments(parts, fd=0), "--gvisor"]},
        "root": {"path": "/", "readonly": False},
        "hostname": "desktop",
        "mounts": [
            mount("/proc", "proc"),
            mount("/dev", "tmpfs"),
            mount("/dev/pts", "devpts"),
            mount("/dev/shm", "tmpfs", "mode=1777", f"size={SHM_MB}m"),
            mount("/run", "tmpfs", "mode=755"),
            mount(_STATE, "tmpfs", "mode=711"),  # else runsc makes it for all to write to
            bind(SCREEN, f"{_STATE}/framebuffer", "rw"),
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "mount", "network", "ipc", "uts")],
        },
    }


def command(platform: str, *arguments: str) -> list[str]:
    """The command line of runsc, in the container outside."""
    flags = [*FLAGS, f"--platform={platform}"] if platform else FLAGS
    return [f"{OUTSIDE}/runsc", f"--root={RECORDS}", *flags, *arguments]


def _script(platform: str, restored: bool) -> str:
    """What PID 1 does: have the screen's file as it was, and run runsc, whose standard input is the guest's.

    A checkpoint ends runsc. PID 1 must wait then, since who asked for the checkpoint is in its namespace.
    """
    what: Sequence[str] = ("run", f"--bundle={OWN}", CONTAINER)
    script = f"exec <&{GUEST_FD} {GUEST_FD}<&-; "
    if restored:
        what = ("restore", f"--bundle={OWN}", f"--image-path={IMAGE}", CONTAINER)
        script += f"[ ! -e {IMAGE}/{FRAMEBUFFER} ] || cp -p {IMAGE}/{FRAMEBUFFER} {SCREEN} || exit; "
    return f"{script}{shlex.join(command(platform, *what))}; [ ! -e {OWN}/{CHECKPOINT} ] || exec sleep {LINGERING}"
