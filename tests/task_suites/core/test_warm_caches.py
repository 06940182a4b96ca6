"""What programs compute at their first start goes from machine to machine; nothing else does."""

import os
import shutil

import pytest

from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.host import cache_folder
from deskgym.task_suites.core.warm_caches import CACHES, RENEWED, give_caches, keep_caches

pytestmark = pytest.mark.sandbox


@pytest.fixture
def program():
    name = f"test-{os.getpid()}"
    yield name
    shutil.rmtree(cache_folder() / "programs" / name, ignore_errors=True)


@pytest.fixture
def machine():
    with create_machine("sandbox", MachineConfig(screen_size=None)) as started:
        yield started


def test_shader_caches_are_kept_and_given(program, machine):
    assert not give_caches(machine, program)
    machine.put(f"{CACHES}/mesa_shader_cache/ab/cd", b"compiled")
    machine.put(f"{CACHES}/other/secret", b"not a cache that is known")
    keep_caches(machine, program)
    machine.restore(None)
    assert give_caches(machine, program)
    assert machine.get(f"{CACHES}/mesa_shader_cache/ab/cd") == b"compiled"
    assert machine.guest.stat(f"{CACHES}/mesa_shader_cache/ab/cd")["uid"] == 1000
    assert not machine.guest.exists(f"{CACHES}/other")
    assert [path.name for path in (cache_folder() / "programs").iterdir() if path.name.startswith(".")] == []


def test_old_caches_are_renewed(program, machine):
    machine.put(f"{CACHES}/mesa_shader_cache/ab", b"old")
    keep_caches(machine, program)
    kept = cache_folder() / "programs" / program
    long_ago = kept.stat().st_mtime - RENEWED - 1
    os.utime(kept, (long_ago, long_ago))
    assert not give_caches(machine, program)
    machine.put(f"{CACHES}/mesa_shader_cache/ab", b"new")
    keep_caches(machine, program)
    assert (kept / "mesa_shader_cache" / "ab").read_bytes() == b"new"
