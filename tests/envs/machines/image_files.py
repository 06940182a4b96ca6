"""Hand-made images and a stand-in for mmdebstrap, for tests that need no real build."""

import io
import json
import os
import subprocess
import tarfile

from deskgym.envs.machines.image import build
from deskgym.envs.machines.image.image import FILES, sha256
from deskgym.envs.machines.sandbox.host import find_tool
from deskgym.envs.machines.userns import NoIdsError, id_map


def why_not():
    """Why no image can be built here, even with the stand-in; "" where one can."""
    missing = [tool for tool, _ in build.TOOLS if tool != "mmdebstrap" and find_tool(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    try:
        id_map()
    except NoIdsError as error:
        return str(error)
    if os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"]).returncode:
        return "this root may not make namespaces"
    return ""


WHY_NOT = why_not()

FAKE_MMDEBSTRAP = """#!/bin/sh
# Like mmdebstrap as far as the builder can see, but the file tree is a ready archive.
echo run >> "$FAKE_FOLDER/runs"
for argument in "$@"; do case $argument in *rootfs.tar.part) target=$argument;; esac; done
echo "0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded."
echo "Unpacking tool (1.0) ..."
echo "Setting up tool (1.0) ..."
case $(cat "$FAKE_FOLDER/behaviour" 2>/dev/null) in
  hang) echo half > "$target"
    setsid sleep 1000 &
    echo $! > "$FAKE_FOLDER/ready"; wait;;
  unknown) echo "E: Unable to locate package frobnicator"; exit 1;;
  offline) echo "Err:1 http://mirror.invalid/debian bookworm InRelease"
    echo "  Could not resolve 'mirror.invalid'"; echo "E: apt-get update failed"; exit 1;;
  full) echo half > "$target"; echo "tar: x: Cannot write: No space left on device"; exit 1;;
  command) echo "deskgym: run[1]"; echo "sh: 1: frobnicate: not found"
    echo "E: run_chroot failed: mmdebstrap failed to run"; exit 1;;
  *) cp "$FAKE_FOLDER/tree.tar" "$target";;
esac
"""


def hand_made_image(images, name="toy", digest="0123456789ab", built="2026-01-01T00:00:00+00:00"):
    """A small image that passes every check; returns its folder."""
    folder = images / f"{name}-{digest}"
    folder.mkdir(parents=True)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", folder / "disk.qcow2", "1M"], check=True)
    (folder / "vmlinuz").write_bytes(b"kernel")
    (folder / "initrd.img").write_bytes(b"initrd")
    manifest = {
        "name": name,
        "hash": digest,
        "python": "3.11",
        "resolution": [1280, 720],
        "disk_bytes": 1 << 20,
        "built": built,
        "files": {file: {"bytes": (folder / file).stat().st_size, "sha256": sha256(folder / file)} for file in FILES},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def fake_mmdebstrap(folder, monkeypatch, megabytes=1):
    """Put the stand-in first on PATH; what it does next is in ``folder/behaviour``, its runs in ``folder/runs``."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    (programs / "mmdebstrap").write_text(FAKE_MMDEBSTRAP)
    (programs / "mmdebstrap").chmod(0o755)
    with tarfile.open(folder / "tree.tar", "w") as archive:
        status = b"Package: python3\nStatus: install ok installed\nVersion: 3.11.2-1\n\nPackage: gone\n"
        status += b"Status: deinstall ok config-files\nVersion: 1\n"
        for path in (".", "./etc", "./tmp", "./var", "./var/lib", "./var/lib/dpkg", "./boot", "./dev"):
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for path, content in {
            "./var/lib/dpkg/status": status,
            "./boot/vmlinuz-6.1.0-test": b"a kernel",
            "./boot/initrd.img-6.1.0-test": b"an initrd",
            "./etc/hostname": b"desktop\n",
            "./blob": os.urandom(1 << 10) * (megabytes << 10),
        }.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.uid = len(content), 0o644, 1000 if path == "./blob" else 0
            archive.addfile(entry, io.BytesIO(content))
    monkeypatch.setenv("FAKE_FOLDER", str(folder))
    first_on_path(programs, monkeypatch)
    return folder


def first_on_path(programs, monkeypatch):
    """Let programs of this folder be found before all others."""
    from deskgym.envs.machines.sandbox import host as sandbox_host

    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(sandbox_host, "_PATH", f"{programs}:{sandbox_host._PATH}")
