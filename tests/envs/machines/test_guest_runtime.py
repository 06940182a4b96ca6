"""The guest runtime has what the guest needs, and nothing else."""

import shutil
import subprocess
import sys

from deskgym.envs.machines import guest_runtime

ALLOWED = {
    "boot.py", "deskgym", "msgpack", "dbus_fast", "Xlib", "six.py", "PIL", "pillow.libs", "pyautogui", "pyscreeze",
    "pytweening", "pymsgbox", "pygetwindow", "pyrect", "__pycache__",
}  # fmt: skip


def test_it_has_nothing_of_ours_but_the_guest():
    folder = guest_runtime.build_guest_runtime()
    assert {path.name for path in folder.iterdir()} <= ALLOWED
    files = {p.relative_to(folder / "deskgym").as_posix() for p in (folder / "deskgym").rglob("*.py")}
    assert all(name in ("__init__.py", "envs/__init__.py") or name.startswith("envs/guest/") for name in files)
    assert (folder / "deskgym/__init__.py").read_text() == (folder / "deskgym/envs/__init__.py").read_text() == ""
    assert all(path.stat().st_mode & 0o022 == 0 for path in folder.rglob("*"))


def test_it_is_compiled_and_imports_without_site_packages():
    folder = guest_runtime.build_guest_runtime()
    assert list((folder / "deskgym/envs/guest/__pycache__").glob("server.*.pyc"))
    modules = "deskgym.envs.guest.server, msgpack, dbus_fast, Xlib.display, PIL.Image"
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import {modules}"
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], check=True, timeout=30)


def test_it_is_found_again(tmp_path, monkeypatch):
    shutil.copytree(guest_runtime.SOURCE, tmp_path / "guest")  # somebody may be editing the original
    monkeypatch.setattr(guest_runtime, "SOURCE", tmp_path / "guest")
    guest_runtime.build_guest_runtime.cache_clear()
    first = guest_runtime.build_guest_runtime()
    guest_runtime.build_guest_runtime.cache_clear()
    monkeypatch.setattr(guest_runtime, "_build", None)
    assert guest_runtime.build_guest_runtime() == first
    guest_runtime.build_guest_runtime.cache_clear()


def test_an_interpreter_outside_usr_comes_with_its_library():
    interpreter = guest_runtime.find_interpreter()
    if interpreter.prefix is None:
        assert interpreter.path.startswith("/usr/")
    else:
        assert interpreter.path.startswith(guest_runtime.PYTHON_INSIDE) and interpreter.masked
