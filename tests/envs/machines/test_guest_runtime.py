"""The guest runtime has what the guest needs, and nothing else."""

import os
import shutil
import subprocess
import sys
import venv

import pytest

from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.machines import create_machine, guest_runtime
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.kernels import Kernel
from deskgym.envs.machines.sandbox.host import cache_folder

ALLOWED = {
    "boot.py", "deskgym", "msgpack", "dbus_fast", "Xlib", "six.py", "PIL", "pillow.libs", "pyautogui", "pyscreeze",
    "pytweening", "pymsgbox", "pygetwindow", "pyrect", "h11", "__pycache__",
}  # fmt: skip


def test_it_has_nothing_of_ours_but_the_guest():
    folder = guest_runtime.build_guest_runtime()
    assert {path.name for path in folder.iterdir()} <= ALLOWED
    files = {p.relative_to(folder / "deskgym").as_posix() for p in (folder / "deskgym").rglob("*.py")}
    assert all(name in ("__init__.py", "envs/__init__.py") or name.startswith("envs/guest/") for name in files)
    assert (folder / "deskgym/__init__.py").read_text() == (folder / "deskgym/envs/__init__.py").read_text() == ""
    assert all(path.stat().st_mode & 0o022 == 0 for path in folder.rglob("*"))


FULL = """
import os, shutil, subprocess
from deskgym.envs.machines.guest_runtime import build_guest_runtime
from deskgym.envs.machines.sandbox.host import cache_folder

cache = cache_folder()

def resize(size):
    options = f"{'remount,' * os.path.ismount(cache)}mode=755,size={size}k"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", cache], check=True)

def built():
    build_guest_runtime.cache_clear()
    return build_guest_runtime()

resize(300 << 10)
assert os.path.ismount(cache)
built()
size = shutil.disk_usage(cache).used
shutil.rmtree(built())
for kib in (4, 16 << 10, (size >> 10) - 200):
    resize(kib)
    try:
        print("BUILT", kib, built())
    except OSError as error:
        print(error)
    assert not list(cache.iterdir()), list(cache.iterdir())
resize(300 << 10)
whole = built()
assert len(list(whole.rglob("*.py"))) == len(list(whole.rglob("*.pyc")))
"""


def test_on_a_full_disk_it_is_not_built_in_part(in_own_mounts):
    done = in_own_mounts(FULL)
    assert done.returncode == 0, done.stdout + done.stderr
    words = "No space left on device; make room there, or set XDG_CACHE_HOME to a folder on another disk"
    assert done.stdout == f"[Errno 28] {words}: '{cache_folder()}'\n" * 3


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A package ``own.guest``, whose parent cannot be imported inside."""
    folder = tmp_path / "own" / "guest"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("HOST = True")
    (folder / "__init__.py").write_text("from own.guest.readers import twice")
    (folder / "readers.py").write_text("def twice(number): return 2 * number\ndef names(space): return sorted(space)")
    monkeypatch.syspath_prepend(tmp_path)
    guest_runtime.build_guest_runtime.cache_clear()
    yield "own.guest"
    for name in ("own", "own.guest"):
        sys.modules.pop(name, None)


def test_a_plugin_is_only_where_it_is_asked_for(plugin):
    base, more = guest_runtime.build_guest_runtime(), guest_runtime.build_guest_runtime((plugin,))
    assert not (base / "own").exists()
    assert (more / "own/__init__.py").read_text() == ""
    assert list((more / "own/guest/__pycache__").glob("readers.*.pyc"))
    assert (more / "msgpack/__init__.py").samefile(base / "msgpack/__init__.py")
    code = (
        f"import sys; sys.path.insert(0, {str(more)!r}); import deskgym.envs.guest.server, own.guest as g; g.twice(2)"
    )
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", code], check=True, timeout=30)


def test_a_plugin_that_is_changed_makes_another_runtime(plugin, tmp_path):
    before = guest_runtime.build_guest_runtime((plugin,))
    (tmp_path / "own/guest/readers.py").write_text("def twice(number): return number + number")
    guest_runtime.build_guest_runtime.cache_clear()
    assert guest_runtime.build_guest_runtime((plugin,)) != before


@pytest.mark.parametrize("name", ["nowhere.guest", "deskgym.registration", ".guest"])
def test_a_plugin_that_is_no_package_is_an_error(name):
    with pytest.raises(MachineError, match="is no Python package that can be imported"):
        guest_runtime.build_guest_runtime((name,))


@pytest.mark.parametrize("kind", ["process", pytest.param("sandbox", marks=pytest.mark.sandbox)])
def test_a_kernel_calls_its_machines_plugin(plugin, kind):
    with create_machine(kind, MachineConfig(screen_size=None, plugins=(plugin,))) as machine:
        kernel = Kernel(machine)
        kernel.open({}, ["x = 1"])
        assert kernel.run(f"import sys\n{plugin!r} in sys.modules").stdout == "True\n"
        assert kernel.call(f"{plugin}.readers:twice", {"number": 4}) == 8
        assert "x" in kernel.call(f"{plugin}.readers:names", {}, variables=True)
        with pytest.raises(GuestCallError, match="ModuleNotFoundError"):
            kernel.call("deskgym.task_suites.table_analysis.guest.comparators:compare", {})


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


def test_an_environment_with_a_copy_of_python_has_the_interpreter_that_was_copied(tmp_path):
    venv.create(tmp_path, symlinks=False)
    code = "from deskgym.envs.machines.guest_runtime import find_interpreter; print(find_interpreter())"
    packages = [path for path in sys.path if path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages)}
    copied = [tmp_path / "bin" / "python", "-c", code]
    found = subprocess.run(copied, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert found == str(guest_runtime.find_interpreter())
