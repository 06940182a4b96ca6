"""Kernels that are held: what comes back, how often, and what cannot be held."""

import pytest

from deskgym.envs.errors import GuestCallError
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.kernels import LIBRARIES, Kernel

FIRST = """
import os, random, time
import numpy as np
import matplotlib.pyplot as plt
random.seed(3), np.random.seed(4)
generator = np.random.default_rng(5)
x = 1
"""
DRAWN = "random.random(), np.random.rand(), generator.random()"


SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
#: Where the agent is a user of its own and root's exceptions do not hold: in a process of the host it is the guest's.
ANOTHER_USER = pytest.mark.parametrize("machine", [SANDBOX], indirect=True)


@pytest.fixture(scope="module", params=[SANDBOX, "process"])
def machine(request):
    with create_machine(request.param, MachineConfig(screen_size=None, libraries=LIBRARIES)) as machine:
        yield machine


@pytest.fixture
def kernel(machine):
    kernel = Kernel(machine)
    kernel.open({"t.csv": b"a,b\n1,2\n"}, [FIRST])
    yield kernel
    machine.restore(None)


def test_variables_files_figures_and_random_numbers_come_back_as_often_as_one_likes(kernel):
    kernel.run("plt.plot([1, 2]); os.makedirs('deep/er'); os.symlink('t.csv', 'link'); os.chdir('deep')")
    drawn = kernel.run(DRAWN).stdout
    number = kernel.hold()
    following = kernel.run(DRAWN).stdout
    picture = kernel.picture()
    for _ in range(3):
        kernel.run("x += 1; plt.plot([2, 1]); os.unlink('../t.csv'); os.rmdir('er'); os.chdir('/')")
        kernel.resume(number)
        assert kernel.run(DRAWN).stdout == following != drawn
        assert (kernel.picture() == picture).all()
        told = kernel.run("x, os.getcwd().endswith('deep'), os.listdir(), open('../link').read()").stdout
        assert told == "(1, True, ['er'], 'a,b\\n1,2\\n')\n"


def test_a_tree_of_held_kernels(kernel):
    numbers = []
    for step in range(3):
        kernel.run(f"x = {step}; open('f', 'w').write('{step}')")
        numbers.append(kernel.hold())
    for step in (1, 0, 2, 1):
        kernel.resume(numbers[step])
        assert kernel.run("x, open('f').read()").stdout == f"({step}, '{step}')\n"
    kernel.release(numbers[1])
    kernel.release(numbers[1])
    assert kernel.run("x").stdout == "1\n"  # what was made of it lives
    with pytest.raises(GuestCallError, match="no held session"):
        kernel.resume(numbers[1])
    kernel.resume(numbers[0])
    assert kernel.run("x").stdout == "0\n"


def test_a_held_kernel_outlives_the_one_it_was_made_of(kernel):
    number = kernel.hold()
    assert kernel.run("os._exit(1)").status == "died"
    kernel.resume(number)
    assert kernel.run("x").stdout == "1\n"
    kernel.open({}, ["import os", "x = 9"])
    assert kernel.run("x, os.path.exists('t.csv')").stdout == "(9, False)\n"
    kernel.resume(number)
    assert kernel.run("x, os.path.exists('t.csv')").stdout == "(1, True)\n"
    assert kernel.run("while True: time.sleep(1)", timeout=0.3).status == "timeout"
    assert kernel.run("x").stdout == "1\n"


STRANGE = {
    "threads": "import threading; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    "open ": "file = open('left', 'w')",
    "process ": "import subprocess; child = subprocess.Popen(['sleep', '9'])",
    "shared memory": "import mmap; shared = mmap.mmap(-1, 4096)",
    "sockets": "import socket; pair = socket.socketpair()",
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_a_fork_does_not_copy_is_told_and_the_kernel_goes_on(kernel, what):
    kernel.run(STRANGE[what])
    with pytest.raises(GuestCallError, match=f"cannot be copied.*{what}"):
        kernel.hold()
    assert kernel.run("x").stdout == "1\n"


@pytest.mark.sandbox
def test_files_outside_of_its_folder_are_told():
    with create_machine("sandbox", MachineConfig(screen_size=None, libraries=LIBRARIES)) as machine:
        kernel = Kernel(machine)
        kernel.open()
        kernel.run("open('/tmp/elsewhere', 'w').write('x')")
        with pytest.raises(GuestCallError, match="cannot be copied.*/tmp/elsewhere"):
            kernel.hold()
        kernel.run("import os; os.unlink('/tmp/elsewhere')")
        number = kernel.hold()
        kernel.run("open('/tmp/elsewhere', 'w').write('x')")
        kernel.resume(number)
        assert kernel.run("os.path.exists('/tmp/elsewhere')").stdout == "False\n"


def test_nothing_that_is_held_is_left(machine, kernel):
    first = kernel.hold()
    kernel.hold()
    kernel.resume(first)
    processes = "import os; sorted(int(p) for p in os.listdir('/proc') if p.isdigit())"
    folder = kernel.run("os.path.dirname(os.environ['HOME'])").stdout.strip()
    machine.restore(None)
    assert machine.untouched
    kernel.open({}, ["import os"])
    assert kernel.run(f"len(os.listdir({folder!r}))").stdout == "1\n"
    if machine.kind == "sandbox":
        own = "[p for p in os.listdir('/proc') if p.isdigit() and os.stat('/proc/' + p).st_uid == os.getuid()]"
        assert kernel.run(f"{own} == [str(os.getpid())]").stdout == "True\n", kernel.run(processes).stdout
    with pytest.raises(GuestCallError, match="no held session"):
        kernel.resume(first)


PATCH = """
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Kernel":
        thing._operations["hold"] = lambda fds, cwd="", live=False: {says}
"""
SPOILED = {
    "children that nobody waits for": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "a timer": "import signal; signal.signal(14, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 60)",
    "a thread in each fork": (
        "import threading\n"
        "start = lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "os.register_at_fork(after_in_child=start)"
    ),
    "a process in each fork": (
        "import subprocess\nos.register_at_fork(after_in_child=lambda: subprocess.Popen(['sleep', '60']))"
    ),
    "a file that is read": "file = open('/usr/lib/os-release', 'rb', buffering=0); file.read(10)",
}


@pytest.mark.parametrize("how", SPOILED)
def test_what_spoils_a_copy_costs_the_session_nothing(kernel, how):
    kernel.run(SPOILED[how])
    check_a_failed_hold(kernel)


@ANOTHER_USER
def test_a_session_that_may_start_no_further_process_is_not_held(kernel):
    kernel.run("import resource; resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))")
    check_a_failed_hold(kernel)


def check_a_failed_hold(kernel):
    with pytest.raises(GuestCallError):
        kernel.hold()
    assert kernel.run("x, open('t.csv').read()").stdout == "(1, 'a,b\\n1,2\\n')\n"
    kernel.run("import signal; signal.setitimer(signal.ITIMER_REAL, 0)")


@ANOTHER_USER
def test_a_held_session_is_shut_to_later_ones(kernel):
    number = kernel.hold()
    look = (
        "found = []\n"
        "for p in os.listdir('/proc'):\n"
        "    if p.isdigit() and int(p) != os.getpid():\n"
        "        try: open(f'/proc/{p}/mem', 'r+b'); found.append(p)\n"
        "        except OSError: pass\n"
        "for place in ('..', '../../held'):\n"
        "    try: found += [name for name in os.listdir(place) if 'session' not in name]\n"
        "    except OSError: pass\n"
        "found"
    )
    assert kernel.run(look).stdout == "[]\n"
    kernel.resume(number)
    assert kernel.run(f"{look}, os.access('/proc/self/mem', os.R_OK)").stdout == "([], True)\n"


@ANOTHER_USER
def test_a_kernel_that_lies_about_its_copy_is_told(kernel):
    kernel.run(PATCH.format(says="(os.write(fds[0], b'{}'), {'cwd': '/'})[1]"))
    with pytest.raises(GuestCallError, match="copy of the kernel"):
        kernel.hold()
    assert kernel.run("x").stdout == "1\n"
