"""What deskgym itself puts into an image: how it boots, who is in it, and a script that puts the last things right."""

from __future__ import annotations

import io
import json
import shlex
import tarfile
from collections.abc import Iterable
from pathlib import Path

from deskgym.envs.machines.image.recipe import GUEST_SERVICE, Recipe, RecipeFile, guest_files

EPOCH = 1767225600
"""Seconds since 1970 (2026-01-01): no file of an image is younger. A constant, so that a build can be repeated."""

SCRIPT = "/var/tmp/deskgym-customise"
HOSTNAME = "desktop"

EXCLUDED = (
    "/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/help/*", "/usr/share/lintian/*",
    "/usr/share/locale/*", "/usr/share/gnome/help/*", "/usr/share/doc-base/*",
    "/usr/share/initramfs-tools/hooks/udev", "/usr/share/initramfs-tools/scripts/init-*/udev",
    "/usr/share/initramfs-tools/hooks/fsck",
)  # fmt: skip
"""Not unpacked. Of the initial RAM disk: devtmpfs has the disk at once, so udev would only cost time there."""
INCLUDED = ("/usr/share/doc/*/copyright", "/usr/share/locale/locale.alias")

BOOT_MODULES = ("virtio_pci", "virtio_mmio", "virtio_blk", "virtio_console", "ext4")
MODULES = ("virtio_console", "virtio_rng", "virtio_pmem", "nd_pmem", "pvpanic")

MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
    "man-db.timer", "logrotate.timer", "systemd-tmpfiles-clean.timer", "e2scrub_reap.service", "getty@tty1.service",
    "systemd-networkd.service", "systemd-networkd.socket", "systemd-networkd-wait-online.service",
    "systemd-network-generator.service", "systemd-timesyncd.service", "systemd-update-utmp.service",
    "systemd-update-utmp-runlevel.service", "systemd-pstore.service", "systemd-binfmt.service",
    "systemd-hwdb-update.service", "systemd-journal-catalog-update.service", "systemd-update-done.service",
    "systemd-machine-id-commit.service", "systemd-firstboot.service", "systemd-sysusers.service", "ldconfig.service",
    "systemd-journal-flush.service", "systemd-boot-update.service", "systemd-boot-random-seed.service",
    "systemd-random-seed.service", "systemd-repart.service", "sys-kernel-debug.mount", "sys-kernel-tracing.mount",
    "dev-hugepages.mount", "dev-mqueue.mount", "proc-sys-fs-binfmt_misc.automount",
    "sys-fs-fuse-connections.mount", "sys-kernel-config.mount", "modprobe@configfs.service", "modprobe@drm.service",
    "modprobe@efi_pstore.service", "modprobe@fuse.service", "serial-getty@.service",
)  # fmt: skip
"""Units that a throwaway desktop without a network does not need."""

_MOVE_DEV = """#!/bin/sh
[ "$1" = prereqs ] || mount -n -o move /dev "${rootmnt:?}/dev" || mount -n --move /dev "$rootmnt/dev"
"""
"""What udev's script in the initial RAM disk does besides."""


def early_files() -> list[RecipeFile]:
    """What must lie there before the packages are installed."""
    return [
        _file("/etc/initramfs-tools/conf.d/deskgym", "MODULES=list\nCOMPRESS=lz4\nRESUME=none\n"),
        _file("/usr/share/initramfs-tools/modules.d/deskgym", _lines(BOOT_MODULES)),
        RecipeFile("/usr/share/initramfs-tools/scripts/init-bottom/deskgym", _MOVE_DEV.encode(), 0o755),
    ]


def late_files(recipe: Recipe) -> list[RecipeFile]:
    """What is put over the installed packages; the recipe's own files come last and win."""
    sudoers = "".join(f"{user.name} ALL=(ALL:ALL) NOPASSWD: ALL\n" for user in recipe.users if user.sudo)
    about = {"name": recipe.name, "hash": recipe.hash, "resolution": list(recipe.resolution)}
    return [
        _file("/etc/hostname", f"{HOSTNAME}\n"),
        _file("/etc/hosts", f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost ip6-localhost ip6-loopback\n"),
        _file("/etc/fstab", "/dev/vda / ext4 rw,noatime 0 0\n"),
        _file("/etc/default/locale", "LANG=C.UTF-8\n"),
        _file("/etc/locale.conf", "LANG=C.UTF-8\n"),
        _file("/etc/modules-load.d/deskgym.conf", _lines(MODULES)),
        _file("/etc/systemd/journald.conf.d/deskgym.conf", "[Journal]\nStorage=volatile\nRuntimeMaxUse=8M\n"),
        _file("/etc/deskgym/image.json", json.dumps(about) + "\n"),
        RecipeFile("/etc/sudoers.d/deskgym", sudoers.encode(), 0o440),
        *guest_files(),
        *recipe.files,
        RecipeFile(SCRIPT, customise_script(recipe).encode(), 0o755),
    ]


def customise_script(recipe: Recipe) -> str:
    """A shell script for the image's own root: users, owners, services, the recipe's commands, and no traces of it all.

    Before each step it prints a line ``deskgym: PLACE``, so that a failure can be put down to a key of the recipe.
    """
    steps: list[tuple[str, str]] = []
    for user in recipe.users:
        name, home = user.name, f"/home/{user.name}"
        steps.append((
            f"users: {name}",
            f"groupadd --gid {user.uid} {name}\n"
            f"useradd --uid {user.uid} --gid {user.uid} --home-dir {home} --no-create-home --shell /bin/bash {name}\n"
            f"mkdir -p {home} && cp -an /etc/skel/. {home}/ && chown -R {user.uid}:{user.uid} {home}\nchmod 755 {home}",
        ))  # fmt: skip
    for file in recipe.files:
        path = shlex.quote(file.path)
        steps.append((f"files: {file.path}", f"chown {file.owner}: {path} && chmod {file.mode:o} {path}"))
    steps.append(("the builder's services", _services()))
    for verb in ("enable", "disable", "mask"):
        steps += [(f"services.{verb}: {unit}", f"systemctl {verb} {unit}") for unit in getattr(recipe, verb)]
    steps += [(f"run[{number}]", f"sh -euc {shlex.quote(command)}") for number, command in enumerate(recipe.run)]
    steps.append(("clearing up", _CLEAR))
    body = "".join(f"echo {shlex.quote(f'deskgym: {place}')}\n{command}\n" for place, command in steps)
    return (
        "#!/bin/sh\nset -eu\nexport LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive SYSTEMD_OFFLINE=1\n"
        f"cd /\n{body}"
    )


def write_tar(path: Path, files: Iterable[RecipeFile]) -> None:
    """The files as a tar archive, owned by root; a later file replaces an earlier one of the same path."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for file in {file.path: file for file in files}.values():
            entry = tarfile.TarInfo(file.path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode, EPOCH
            archive.addfile(entry, io.BytesIO(file.content))


def _file(path: str, text: str) -> RecipeFile:
    return RecipeFile(path, text.encode())


def _lines(words: Iterable[str]) -> str:
    return "".join(f"{word}\n" for word in words)


def _services() -> str:
    guest = any(file.path.endswith(f"/{GUEST_SERVICE}") for file in guest_files())
    return (
        f"systemctl set-default multi-user.target\nsystemctl mask {' '.join(MASKED)}"
        + f"\nsystemctl enable {GUEST_SERVICE}" * guest
    )


_CLEAR = f"""\
rm -f {SCRIPT} /etc/resolv.conf /etc/*- /var/lib/dpkg/*-old /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache
rm -rf /var/lib/systemd/random-seed /var/lib/apt/lists/* /var/cache/apt/*.bin /root/.cache /root/.wget-hsts
find /var/log -type f -delete
python3 -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3* || true
find / -xdev \\( -path /dev -o -path /proc -o -path /sys \\) -prune -o -newermt @{EPOCH} \\
  -exec touch -hcd @{EPOCH} {{}} +
if command -v fc-cache >/dev/null; then rm -rf /var/cache/fontconfig/* && fc-cache -s; fi"""
