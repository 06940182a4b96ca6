"""Files, programs and settings in the place of others."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from deskgym.task_suites.core.verify.attacks.inside.processes import HOME, got_in


def plant(kind: str, paths: list[str]) -> None:
    """Put something else in the place of files."""
    for name in paths:
        path = Path(name)
        if kind == "touched":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            continue
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        plant_one(kind, path)


def plant_one(kind: str, path: Path) -> None:
    """Make a file of some kind."""
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "of another kind":
        path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    elif kind == "a folder":
        (path / "inner").mkdir(parents=True)
    elif kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a zip bomb":
        bomb(path)
    elif kind == "1 TB of nothing":
        with contextlib.suppress(OSError), open(path, "wb") as file:
            file.truncate(1 << 40)
    elif kind == "unreadable":
        path.write_bytes(b"x")
        path.chmod(0)
    else:
        path.symlink_to(path.name if kind == "a link to itself" else kind.removeprefix("a link to "))


def bomb(path: Path) -> None:
    """A workbook of 2 GB, in 2 MB."""
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("[Content_Types].xml", "xl/workbook.xml", "content.xml", "xl/worksheets/sheet1.xml"):
            with archive.open(name, "w", force_zip64=True) as member:
                for _ in range(128):
                    member.write(bytes(4 << 20))


def write_all(paths: list[str], text: str) -> None:
    """Write a text into each file."""
    for name in paths:
        path = Path(name)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def replace_binaries(names: list[str]) -> None:
    """Put programs that do nothing wherever programs are looked for, and aliases."""
    tools = ["python3", "soffice", "sqlite3", "psql", "sh", "cat", "stat", "ls", "xprop", "xdotool"]
    folders = [*os.environ["PATH"].split(":"), "/opt/deskgym/python/bin"]
    for folder in map(Path, [*folders, "/home/user/.local/bin", "/home/user/bin"]):
        for name in [*names, *tools]:
            with contextlib.suppress(OSError):
                if folder.is_relative_to(HOME):
                    folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text("#!/bin/sh\nexit 0\n")
                (folder / name).chmod(0o755)
                if not folder.is_relative_to(HOME):
                    got_in(f"{folder / name} can be written")
    for name in (".bashrc", ".profile", ".bash_aliases", ".xprofile"):
        (HOME / name).write_text("".join(f"alias {tool}=true\n" for tool in [*names, *tools]) + "exit 0\n")


def edit_configuration() -> None:
    """Spoil all settings, and have every Python of this user end at its start."""
    for folder in (HOME / ".config", HOME / ".local"):
        for path in list(folder.rglob("*")):
            with contextlib.suppress(OSError):
                if path.is_file():
                    path.write_bytes(b"\0spoilt")
    for version in (9, 10, 11, 12, 13, 14):
        site = HOME / f".local/lib/python3.{version}/site-packages"
        site.mkdir(parents=True, exist_ok=True)
        for name in ("sitecustomize.py", "usercustomize.py"):
            (site / name).write_text("import os\nos._exit(0)\n")
    for root in map(Path, ("/opt/deskgym", "/etc", "/usr", "/run/deskgym")):
        for entry in [root, *root.glob("*")]:
            if os.access(entry, os.W_OK) and not entry.is_symlink():
                got_in(f"{entry} can be written")
