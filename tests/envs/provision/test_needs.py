"""Needs: what tasks ask of their machines, and that one environment serves different ones."""

from dataclasses import replace

import pytest

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.needs import Needs
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.services import Daemon, Ready, ServiceSpec
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.core.suite import TaskSuite

READY = Ready(port=80)
SLEEPER = ServiceSpec("sleeper", (Daemon(("sleep", "9"), READY),))
TASK = """
id: demo/{name}
title: T
instruction: Do it.
difficulty: easy
needs: {needs}
setup:
  - {setup}
checks:
  - file.exists: /tmp/x
oracle:
  - done:
wrong:
  nothing:
    - fail:
"""


def suite(folder, setup="write: {path: /tmp/x, text: x}", **needs):
    for name, text in needs.items():
        (folder / f"{name}.yaml").write_text(TASK.format(name=name, needs=text, setup=setup))
    return TaskSuite("demo", folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"memory": 3}, "unknown need 'memory'; legal are memory_mb, .*; did you mean 'memory_mb'"),
        ({"memory_mb": 3}, "memory_mb: legal is a whole number from 64 to 16777216, got 3"),
        ({"processes": 10**9}, "processes: legal is a whole number from 16 to 4194304, got 1000000000"),
        ({"memory_mb": True}, "memory_mb: legal is .*, got True"),
        ({"glx": "yes"}, "glx: legal is true or false, got 'yes'"),
        ({"element_deadline": 0}, "element_deadline: legal is a number from 0.001 up, got 0"),
        ({"motion": 2}, "motion: legal is a number from 0.001 to 1, got 2"),
        ({"locale": "klingon!"}, "locale='klingon!'; legal is a name such as"),
        ({"clock": "noon"}, "clock='noon'; legal is a time such as"),
        ({"packages": ["x"]}, "unknown need 'packages'"),
    ],
)
def test_what_is_not_legal_is_said(values, message):
    with pytest.raises(ValueError, match=message):
        Needs.from_dict(values)


def test_merged_needs_serve_all():
    small = Needs(memory_mb=512, glx=True, locale="C.UTF-8", packages=("a", "b"))
    large = Needs(memory_mb=2048, element_deadline=2.0, locale="de_DE.UTF-8", packages=("b", "c"))
    merged = Needs.merged(small, large, Needs())
    assert merged == Needs(
        memory_mb=2048, glx=True, element_deadline=2.0, locale="de_DE.UTF-8", packages=("a", "b", "c")
    )
    assert hash(merged) == hash(Needs.merged(merged)) and Needs.merged() == Needs()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Daemon("python3 x", READY), r"Daemon.command: legal is a list of \(a text\), got 'python3 x'"),
        (lambda: Daemon(("sleep", 9), READY), r"Daemon.command\[1\]: legal is a text, got 9"),
        (lambda: Daemon(("sleep", "9"), 80), "Daemon.ready: legal is a Ready, got 80"),
        (lambda: Ready(port="80"), "Ready.port: legal is a whole number from 1 to 65535, got '80'"),
        (lambda: Needs(services=SLEEPER), "Needs.services: legal is a list of .*, got ServiceSpec"),
        (lambda: Needs(packages="xterm"), "Needs.packages: legal is a list of .*, got 'xterm'"),
        (lambda: Program("x", "X", packages="xterm"), "Program.packages: legal is a list of .*, got 'xterm'"),
        (lambda: Program("x", "X", hooks={"x.open": 3}), "Program.hooks.x.open: legal is a callable, got 3"),
    ],
)
def test_what_python_code_declares_is_checked_by_its_annotations(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_lists_become_the_tuples_that_they_stand_for():
    spec = ServiceSpec("sleeper", [Daemon(["sleep", "9"], READY)], before=(["true"],))
    assert spec == replace(SLEEPER, before=(("true",),)) and hash(Needs(services=[spec]))


def test_the_users_numbers_are_the_least_that_a_machine_has():
    builder = MachineBuilder.of_options("fake", {"memory_mb": 1000, "disk_mb": 300}, screen_size=(640, 480))
    config = builder.config(Needs(memory_mb=500, disk_mb=900))
    assert (config.memory_mb, config.disk_mb, config.glx) == (1000, 900, False)
    assert builder.config(Needs(glx=True)).glx and builder.config(Needs()) == builder.least


def test_a_mistake_in_a_task_file_has_its_place(tmp_path):
    broken = suite(tmp_path, one="{memory_mb: 9000, disc_mb: 12}")
    with pytest.raises(ValueError, match=r"one\.yaml:6:26: unknown need 'disc_mb'.*did you mean 'disk_mb'"):
        broken.ids()


def test_a_program_that_is_not_installed_is_said_before_a_machine_starts():
    builder = MachineBuilder("sandbox")
    needs = Needs(programs=("nosuch",), packages=("no-such-package-at-all",))
    with pytest.raises(
        MachineError,
        match="uses nosuch, .*missing here: no-such-package-at-all. .*sudo apt-get install no-such-package-at-all",
    ) as error:
        builder.config(needs)
    assert error.value.lasting
    assert MachineBuilder("fake").config(needs)  # its programs are not the host's


def test_one_environment_serves_tasks_of_different_needs(tmp_path):
    env = DesktopEnv(
        suite(tmp_path, small="{}", large="{memory_mb: 9000}", huge="{memory_mb: 9000, processes: 900}"),
        machine="fake",
        screen_size=(640, 480),
        pool={"depth": 1},
    )
    had = []
    for name in ("small", "large", "large", "huge", "small"):
        env.reset(options={"task": f"demo/{name}"})
        had.append((env.machine.config.memory_mb, env.machine.config.processes))
        assert env.manager.clean_machine().config == env.machine.config
    env.close()
    assert had == [(4096, 512), (9000, 512), (9000, 512), (9000, 900), (4096, 512)]


def test_the_pool_prepares_a_machine_of_the_next_tasks_needs(tmp_path):
    env = DesktopEnv(
        suite(tmp_path, small="{}", large="{memory_mb: 9000}"),
        machine="fake",
        screen_size=(640, 480),
        pool={"depth": 1},
    )
    env.reset(seed=0)
    for name, memory in (("large", 9000), ("small", 4096), ("large", 9000)):
        env.prefetch(options={"task": f"demo/{name}"})
        env.pool.wait()
        env.reset(options={"task": f"demo/{name}"})
        assert env.machine.config.memory_mb == memory
    assert env.stats["swaps"] == 3
    env.close()


class KeepingMachine(FakeMachine):
    """Its snapshots keep programs."""

    def __init__(self, config=None):
        super().__init__(config, keeps_programs=True)


def test_snapshots_are_kept_by_needs(tmp_path):
    needs = {"one": "{}", "two": "{}", "large": "{memory_mb: 9000}", "more": "{elements: 9}"}
    env = DesktopEnv(suite(tmp_path, **needs), machine=f"{__name__}:KeepingMachine", screen_size=(640, 480))
    used = []
    for name in ("one", "two", "large", "more", "large"):
        before = env.stats["snapshots_used"]
        env.reset(options={"task": f"demo/{name}"})
        used.append(env.stats["snapshots_used"] - before)
    env.close()
    assert used == [0, 1, 0, 0, 1]  # the setup is the same


@pytest.mark.sandbox
def test_two_tasks_get_their_memory_in_real_sandboxes(tmp_path):
    tasks = suite(tmp_path, small="{}", large="{memory_mb: 700}", setup="run: ['true']")
    env = DesktopEnv(tasks, screen_size=(640, 480), machine_options={"memory_mb": 300})
    fits = {}
    for name in ("small", "large", "small"):
        env.reset(options={"task": f"demo/{name}"})
        code = "held = bytearray(450 << 20); held[::4096] = b'x' * len(held[::4096])"
        fits.setdefault(name, []).append(env.machine.run(["python3", "-c", code]).returncode == 0)
    env.close()
    assert fits == {"small": [False, False], "large": [True]}


@pytest.mark.sandbox
def test_a_task_has_its_locale_its_clock_and_its_readings(tmp_path):
    asked = {"plain": "{}", "asking": '{locale: C.UTF-8, clock: "2024-05-01T09:00", element_deadline: 4}'}
    env = DesktopEnv(suite(tmp_path, setup="run: ['true']", **asked), screen_size=(640, 480))
    told = {}
    for name in ("asking", "plain"):
        env.reset(options={"task": f"demo/{name}"})
        said = env.machine.run(["bash", "-c", "date +%Y-%m-%dT%H:%M; echo $LANG"]).stdout.decode().split()
        told[name] = (*said, env.machine.guest.element_deadline)
    env.close()
    assert told["asking"] == ("2024-05-01T09:00", "C.UTF-8", 4)
    assert told["plain"][0] > "2024-05-01T10:00" and told["plain"][2] == 0.5
