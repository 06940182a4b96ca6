"""The builder with real tar, mke2fs and qemu-img; mmdebstrap is a stand-in, but for the slow test."""

import contextlib
import fcntl
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from image_files import WHY_NOT, fake_mmdebstrap, first_on_path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.image import build, build_image, find_image, inside, load_recipe, store
from deskgym.envs.machines.sandbox import host as sandbox_host

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

BUILDER = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
from deskgym.cli import main
from deskgym.envs.machines.image import store
store.cache_folder = lambda: Path(sys.argv[1])
sys.exit(main(["image", "build", sys.argv[2]]))
"""


@pytest.fixture
def images(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(store, "cache_folder", lambda: cache)
    return store.images_folder()


@pytest.fixture
def fake(tmp_path, monkeypatch):
    return fake_mmdebstrap(tmp_path / "fake", monkeypatch)


@pytest.fixture
def recipe(tmp_path):
    return write_recipe(tmp_path, "name: toy\ndisk_mb: 512\n")


def write_recipe(folder, text):
    path = folder / "toy.yaml"
    path.write_text(text)
    return load_recipe(path)


def runs(fake):
    return len((fake / "runs").read_text().split()) if (fake / "runs").exists() else 0


def wait_for(condition, what, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} never came true"
        time.sleep(0.02)


def alive(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


def stat_of(image, path, folder):
    """What debugfs says of a path in the image."""
    raw = folder / "disk.raw"
    subprocess.run(["qemu-img", "convert", "-O", "raw", image.disk, raw], check=True)
    return subprocess.run(
        [sandbox_host.find_tool("debugfs"), "-R", f"stat {path}", raw], capture_output=True, text=True
    ).stdout


def test_a_build_gives_a_whole_image_and_leaves_nothing_else(images, fake, recipe, tmp_path):
    steps = []
    image = build_image(recipe, report=steps.append)
    image.verify(deep=True)
    assert (image.full_name, image.python, image.resolution) == (recipe.full_name, "3.11", (1280, 720))
    assert image.kernel.read_bytes() == b"a kernel" and image.initrd.read_bytes() == b"an initrd"
    assert image.manifest["packages"] == {"python3": "3.11.2-1"}
    assert image.manifest["kernel_version"] == "6.1.0-test"
    assert set(image.manifest["seconds"]) == {"rootfs", "kernel", "disk"}
    assert sorted(path.name for path in image.folder.iterdir()) == [
        "disk.qcow2", "initrd.img", "manifest.json", "vmlinuz",
    ]  # fmt: skip
    assert [path.name for path in images.iterdir() if path.name[0] != "."] == [image.full_name]
    assert list(dict.fromkeys(step.stage for step in steps)) == list(build.STAGES)
    assert any(step.detail == "setting up tool" and (step.done, step.total) == (2, 5) for step in steps)
    blob = stat_of(image, "/blob", tmp_path)
    assert "User:  1000" in blob and blob.count("Thu Jan  1 00:00:00 1970") + blob.count("Jan  1 00:00:00 2026") == 4
    assert "Jan  1 00:00:00 2026" in blob.split("ctime")[1].splitlines()[0]
    assert find_image("toy") == image


def test_a_second_build_is_the_first_and_a_forced_one_has_the_same_bytes(images, fake, recipe):
    first = build_image(recipe)
    assert build_image(recipe) == first and runs(fake) == 1
    again = build_image(recipe, force=True)
    assert runs(fake) == 2
    assert again.manifest["files"] == first.manifest["files"]


def test_a_build_goes_on_after_the_last_complete_stage(images, fake, recipe, tmp_path, monkeypatch):
    programs = tmp_path / "broken"
    programs.mkdir()
    (programs / "qemu-img").write_text("#!/bin/sh\necho 'qemu-img: error: No space left on device'\nexit 1\n")
    (programs / "qemu-img").chmod(0o755)
    with monkeypatch.context() as patch:
        first_on_path(programs, patch)
        with pytest.raises(MachineError, match="the disk is full at .*make room and build again") as caught:
            build_image(recipe)
        assert caught.value.kind == "disk_full"
    work = images / f".building-{recipe.full_name}"
    assert sorted(path.name for path in work.iterdir()) == [
        "build.log", "initrd.img", "kernel-version", "rootfs.tar", "seconds", "status", "vmlinuz",
    ]  # fmt: skip
    with pytest.raises(MachineError, match="no image 'toy'"):
        find_image("toy")
    steps = []
    build_image(recipe, report=steps.append).verify(deep=True)
    assert list(dict.fromkeys(step.stage for step in steps)) == ["disk", "manifest"]
    assert runs(fake) == 1


FAULTS = {
    "unknown": (ValueError, "recipe 'toy': bookworm has no package 'frobnicator'"),
    "command": (ValueError, r"recipe 'toy': run\[1\] failed: sh: 1: frobnicate: not found"),
    "offline": (MachineError, "no package could be fetched: Could not resolve 'mirror.invalid'"),
    "full": (MachineError, "the disk is full at "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_one_error_and_the_next_build_succeeds(images, fake, recipe, fault):
    (fake / "behaviour").write_text(fault)
    error, words = FAULTS[fault]
    with pytest.raises(error, match=words) as caught:
        build_image(recipe)
    work = images / f".building-{recipe.full_name}"
    assert f"log: {work}/build.log" in str(caught.value) and "\n" not in str(caught.value)
    assert [path.name for path in work.iterdir()] == ["build.log"]
    (fake / "behaviour").unlink()
    build_image(recipe).verify(deep=True)


@pytest.mark.slow
def test_a_tree_that_does_not_fit_says_which_key_to_raise(images, tmp_path, monkeypatch):
    fake_mmdebstrap(tmp_path / "fake", monkeypatch, megabytes=520)
    with pytest.raises(MachineError, match="do not fit on its disk: raise disk_mb in the recipe, it is 512") as caught:
        build_image(write_recipe(tmp_path, "name: toy\ndisk_mb: 512\n"))
    assert caught.value.kind == "image_too_small"


def test_too_little_room_is_said_before_anything_is_done(images, fake, tmp_path, monkeypatch):
    huge = write_recipe(tmp_path, "name: toy\ndisk_mb: 1048576\n")
    room = shutil.disk_usage(images)._replace(free=1 << 30)
    monkeypatch.setattr(build.shutil, "disk_usage", lambda path: room)
    with pytest.raises(MachineError, match="too little room in .*1048576 MiB") as caught:
        build_image(huge)
    assert caught.value.kind == "disk_full" and runs(fake) == 0


def test_missing_tools_are_named_with_the_command_that_installs_them(images, recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox_host, "_PATH", str(tmp_path))
    with pytest.raises(MachineError, match="needs mmdebstrap, qemu-img,.*apt-get install .*mmdebstrap qemu-utils"):
        build_image(recipe)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGINT, signal.SIGKILL))]
)
def test_an_interrupted_build_leaves_no_process_and_can_be_resumed(images, fake, recipe, tmp_path, number):
    (fake / "behaviour").write_text("hang")
    command = [sys.executable, "-c", BUILDER, str(images.parent), str(tmp_path / "toy.yaml")]
    builder = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: (fake / "ready").exists() and (fake / "ready").read_text().strip(), "mmdebstrap's start")
        children = descendants(builder.pid)
        assert len(children) >= 2
        builder.send_signal(number)
        builder.wait(30)
        wait_for(lambda: not any(map(alive, children)), "the end of all that it had started")
        assert builder.stderr.read().strip() == ("" if number == signal.SIGKILL else "deskgym: interrupted")
    finally:
        builder.kill()
    assert find_nothing(images)
    (fake / "behaviour").unlink()
    build_image(recipe).verify(deep=True)


def descendants(pid):
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def find_nothing(images):
    return not [path for path in images.iterdir() if path.name[0] != "."]


def test_one_builder_at_a_time_and_the_other_says_that_it_waits(images, fake, recipe):
    lock = images / f".lock-{recipe.full_name}"
    steps, result = [], []
    with lock.open("w") as file:
        file.write("4711\n")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        thread = threading.Thread(target=lambda: result.append(build_image(recipe, report=steps.append)))
        thread.start()
        wait_for(lambda: steps, "the report")
        assert (steps[0].stage, steps[0].detail) == ("waiting", "process 4711 builds this image")
        assert runs(fake) == 0
    thread.join(30)
    result[0].verify(deep=True)


def test_leftovers_of_older_recipes_are_removed_unless_they_are_being_built(images, fake, recipe):
    names = ("toy-aaaaaaaaaaaa", "toy-bbbbbbbbbbbb", "toy-two-cccccccccccc")
    stale, busy, others = (f".building-{name}" for name in names)
    for name in (stale, busy, others, ".removing-x"):
        (images / name).mkdir()
        (images / name / "rootfs.tar").write_text("old")
    with (images / ".lock-toy-bbbbbbbbbbbb").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        build_image(recipe)
    left = {path.name for path in images.iterdir() if path.name.startswith((".building", ".removing"))}
    assert left == {busy, others}


OWN = """
name: toy
disk_mb: 3072
packages: [jq]
files:
  - {path: /home/user/notes/todo.txt, text: "hello\\n"}
  - {path: /etc/secret, text: "x", mode: "0600"}
users: [{name: user, sudo: true}, {name: alice, uid: 1234}]
services: {mask: [systemd-logind.service]}
run: ["jq --version > /etc/jq-version"]
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sandbox_host.find_tool("mmdebstrap") is None, reason="needs mmdebstrap")
def test_a_real_image_has_what_its_recipe_says(images, tmp_path):
    try:
        image = build_image(write_recipe(tmp_path, OWN))
    except MachineError as error:
        if error.kind == "no_network":
            pytest.skip(str(error))
        raise
    image.verify(deep=True)
    assert {"jq", "systemd", "xvfb"} <= set(image.manifest["packages"])
    raw = tmp_path / "disk.raw"
    subprocess.run(["qemu-img", "convert", "-O", "raw", image.disk, raw], check=True)

    def ask(request):
        command = [sandbox_host.find_tool("debugfs"), "-R", request, raw]
        return subprocess.run(command, capture_output=True, text=True).stdout

    assert subprocess.run([sandbox_host.find_tool("e2fsck"), "-fn", raw], capture_output=True).returncode == 0
    assert ask("cat /etc/jq-version").startswith("jq-")
    assert ask("cat /etc/hostname") == f"{inside.HOSTNAME}\n" and len(ask("cat /etc/machine-id").strip()) == 32
    assert "alice:x:1234:1234" in ask("cat /etc/passwd")
    assert ask("cat /etc/sudoers.d/deskgym") == "user ALL=(ALL:ALL) NOPASSWD: ALL\n"
    assert "Mode:  0600" in ask("stat /etc/secret")
    for path in ("/home/user", "/home/user/.bashrc", "/home/user/notes", "/home/user/notes/todo.txt"):
        assert "User:  1000   Group:  1000" in ask(f"stat {path}"), path
    assert '"/dev/null"' in ask("stat /etc/systemd/system/systemd-logind.service")
    assert "Type: bad type" not in ask("stat /usr/bin/x11vnc") and ask("stat /usr/share/man/man1") == ""
    assert find_nothing(images) is False and not list(images.glob(".building*"))
