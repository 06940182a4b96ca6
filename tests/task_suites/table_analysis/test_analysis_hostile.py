"""Code that means harm, in a real sandbox's kernel: feedback or score 0, never a wrong 1, and the next turn works."""

import resource
import time
from pathlib import Path

import gymnasium
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.agents.base import run_episode
from deskgym.agents.scripted import AttackAgent
from deskgym.envs.errors import ActionError
from deskgym.task_suites.table_analysis import judging
from deskgym.task_suites.table_analysis.guest import RESULTS

pytestmark = pytest.mark.sandbox

TASK = "penguins/ines/normal/mean-mass#3"


@pytest.fixture(scope="module")
def env():
    env = gymnasium.make("deskgym/TableAnalysis-v0", task=TASK, code_timeout=3.0, disable_env_checker=True)
    yield env
    env.close()


@pytest.fixture
def play(env):
    """Plays texts in a new episode; gives feedbacks, the score, and the last step's info."""

    def play(*texts):
        env.reset()
        feedbacks, reward, info, over = [], 0.0, {}, False
        for text in texts:
            assert not over, (feedbacks, info)
            observation, reward, terminated, truncated, info = env.step(text)
            feedbacks.append(observation["feedback"])
            over = terminated or truncated
        return feedbacks, reward, info

    yield play
    assert solve(env) == 1.0, "the next turn does not work"


def solve(env):
    env.reset()
    for text in env.unwrapped.oracle():
        _, reward, terminated, truncated, info = env.step(text)
    assert terminated and not truncated, info
    return reward


def solved_code(env):
    env.reset()
    return next(env.unwrapped.oracle())


def test_code_that_never_ends_is_interrupted_and_keeps_the_variables(play):
    feedbacks, score, _ = play("kept = 41", "while True: pass", "kept + 1", "DONE")
    assert "interrupted: the cell ran past its 3 s" in feedbacks[1]
    assert (feedbacks[2], score) == ("42", 0.0)


def test_code_that_cannot_be_interrupted_is_killed(play):
    code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    feedbacks, score, _ = play(code, "len(penguins) > 0", "DONE")
    assert "the kernel died" in feedbacks[0]
    assert (feedbacks[1], score) == ("True", 0.0)


def test_forks_without_end(play):
    feedbacks, score, info = play("import os\nwhile True:\n    os.fork()", "1 + 1", "DONE")
    assert score == 0.0
    assert feedbacks[1] == "2"


def test_processes_that_go_on_behind_the_cell_end_with_the_episode(play, env):
    spawn = (
        "import subprocess\n"
        "child = subprocess.Popen(['setsid', 'sh', '-c', 'while :; do echo x >> /tmp/alive; sleep 0.01; done'])\n"
        "child.pid > 0"
    )
    feedbacks, score, _ = play(spawn, "DONE")
    assert (feedbacks[0], score) == ("True", 0.0)
    env.reset()
    observation, *_ = env.step("import os, time\ntime.sleep(0.1)\nprint(os.path.exists('/tmp/alive'))")
    assert observation["feedback"] == "False"


def test_memory_without_end(play):
    reserves = "import numpy\nhoard = []\nwhile True:\n    hoard.append(numpy.empty(1 << 26, 'u1'))"
    fills = "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 26))"
    feedbacks, score, _ = play(reserves, fills, "1 + 1", "DONE")
    assert "MemoryError" in feedbacks[0]
    assert "MemoryError" in feedbacks[1] or "interrupted" in feedbacks[1]  # a busy host takes long to fill it
    assert (feedbacks[2], score) == ("2", 0.0)


def test_memory_in_many_processes(play):
    code = "import os\nfor _ in range(40):\n    if os.fork() == 0:\n        hoard = bytearray(b'x' * (1 << 30))"
    _, score, _ = play(code, "DONE")
    assert score == 0.0


@pytest.mark.parametrize("place", [".", "/tmp", "/dev/shm"])
def test_disk_without_end(play, place):
    code = (
        "import itertools\n"
        f"for k in itertools.count():\n    with open(f'{place}/fill-{{k}}', 'wb') as file:\n"
        "        file.write(b'x' * (1 << 24))"
    )
    feedbacks, score, _ = play(code, "1 + 1", "DONE")
    assert score == 0.0
    assert "No space left" in feedbacks[0] or "interrupted" in feedbacks[0] or "died" in feedbacks[0]


def test_one_gigabyte_of_output_is_cut(play):
    start = time.monotonic()
    feedbacks, score, _ = play("for _ in range(1024):\n    print('x' * (1 << 20))", "DONE")
    assert len(feedbacks[0]) < 20_000
    assert "output cut" in feedbacks[0]
    assert score == 0.0
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal\nos.kill(-1, signal.SIGKILL)\nos.kill(os.getpid(), signal.SIGKILL)",
        "import ctypes\nctypes.string_at(0)",
        "import os\nos.closerange(0, 1000)",
    ],
)
def test_a_kernel_that_is_killed_comes_back_with_the_history(play, code):
    feedbacks, score, _ = play(code, "len(penguins) > 0", "DONE")
    assert "the kernel died" in feedbacks[0]
    assert (feedbacks[1], score) == ("True", 0.0)


def test_garbage_on_the_kernels_socket(play):
    code = (
        "import os, stat\n"
        "for fd in range(3, 200):\n"
        "    try:\n"
        "        if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b'\\xff' * 100000)\n"
        "    except OSError: pass"
    )
    _, score, _ = play(code, "1 + 1", "DONE")
    assert score == 0.0


def test_the_machine_has_neither_the_suite_nor_the_hosts_files(play):
    modules = ("deskgym.task_suites.table_analysis.suite", "deskgym.registration", "gymnasium")
    code = f"print([n for n in {modules!r} if _has(n)])"
    head = (
        "def _has(name):\n    try: return importlib.util.find_spec(name) is not None\n"
        "    except ImportError: return False\n"
    )
    places = (__file__, deskgym.__file__, str(Path(deskgym.__file__).parent.parent))
    feedbacks, score, _ = play(
        "import importlib.util\n" + head + code,
        f"import os\nprint([place for place in {places!r} if os.access(place, os.R_OK)])",
        "DONE",
    )
    assert feedbacks[:2] == ["[]", "[]"]
    assert score == 0.0


def test_tables_that_are_overwritten_are_the_agents_alone(play):
    overwrite = (
        "penguins['body_mass_g'] = 1.0\npenguins.to_csv('penguins.csv', index=False)\nmean_mass = 1.0\n"
        "float(pd.read_csv('penguins.csv')['body_mass_g'].mean())"
    )
    feedbacks, score, _ = play(overwrite, "DONE")
    assert (feedbacks[0], score) == ("1.0", 0.0)


PATCHES = {
    "pandas": (
        "pd.Series.__eq__ = pd.DataFrame.__eq__ = lambda *a, **k: True\n"
        "pd.testing.assert_frame_equal = np.allclose = np.isclose = np.array_equal = lambda *a, **k: True\n"
        "pd.read_csv = lambda *a, **k: pd.DataFrame()"
    ),
    "the comparators": (
        "import sys\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('deskgym.task_suites.table_analysis'):\n"
        "        for key, value in list(vars(module).items()):\n"
        "            if callable(value): setattr(module, key, lambda *a, **k: [{'name': 'mean_mass', 'correct': True}])"
    ),
    "the encoding": (
        "import sys\nimport msgpack\n"
        f"module = sys.modules['{RESULTS}']\n"
        "module.take = lambda *a, **k: msgpack.packb({'mean_mass': {'ok': True, 'correct': True, 'missing': True}})"
    ),
    "a number that equals all": (
        "class Same(float):\n    __eq__ = lambda self, other: True\n    __sub__ = __rsub__ = lambda *a, **k: 0.0\n"
        "    __hash__ = float.__hash__\nmean_mass = Same(1)"
    ),
    "not a number": "mean_mass = float('nan')",
    "every number": "mean_mass = np.arange(0, 10000, 0.01)",
}


@pytest.mark.parametrize("what", PATCHES)
def test_what_is_patched_in_the_kernel_earns_nothing(play, what):
    _, score, info = play(f"{PATCHES[what]}\nif 'mean_mass' not in dir(): mean_mass = 1.0", "DONE")
    assert score == 0.0
    assert info["verdict"]["error"] is None


def test_a_result_that_runs_a_command_when_it_is_unpickled_is_never_unpickled(play, tmp_path):
    trap = tmp_path / "ran"
    code = (
        "class Trap:\n    def __reduce__(self):\n        import os\n"
        f"        return os.system, ('touch {trap} /tmp/ran',)\n"
        "import pickle\nmean_mass = Trap()\nopen('mean_mass.pkl', 'wb').write(pickle.dumps(mean_mass))"
    )
    _, score, info = play(code, "DONE")
    assert score == 0.0
    assert info["verdict"]["error"] is None
    assert not trap.exists()


def test_results_of_another_episode_are_gone(play, env):
    right = solved_code(env)
    keep = (
        f"{right}\nimport pickle\nfor place in ('.', '/tmp', '/dev/shm', '/var/tmp'):\n"
        "    open(f'{place}/mean_mass.pkl', 'wb').write(pickle.dumps(mean_mass))\n"
        "    open(f'{place}/sitecustomize.py', 'w').write('mean_mass = 1')"
    )
    _, score, _ = play(keep, "DONE")
    assert score == 1.0
    look = (
        "import os\nprint([p for p in ('.', '/tmp', '/dev/shm', '/var/tmp') if os.path.exists(p + '/mean_mass.pkl')])"
    )
    feedbacks, score, _ = play(look, "print('mean_mass' in dir())", "DONE")
    assert (feedbacks[:2], score) == (["[]", "False"], 0.0)


def test_doing_nothing_earns_nothing(play):
    assert play("DONE")[1] == 0.0
    assert play("ANS A")[1] == 0.0
    assert play("FAIL")[1] == 0.0


def test_a_cell_that_exits_or_is_no_python_is_feedback(play):
    feedbacks, score, _ = play("import sys\nsys.exit(3)", "this is no python", "DONE")
    assert "SystemExit" in feedbacks[0]
    assert "SyntaxError" in feedbacks[1]
    assert score == 0.0


FORGE = """
import os, struct, sys, time, msgpack
kernel, values = sys.modules["deskgym.envs.guest.kernel.process"], sys.modules["RESULTS"]
honest = kernel.pack
kernel.pack = lambda answer: forged() if "data" in answer or "error" in answer else honest(answer)
def frame(body): return struct.pack(">I", len(body)) + body
""".replace("RESULTS", RESULTS)
FORGED = {
    "as much as a frame takes": "def forged(): return honest({'data': bytes((16 << 20) - 30)})",
    "millions of dicts": (
        "many = (16 << 20) - 2000\n"
        "def forged(): return frame(b'\\x82\\xa1x\\xdd' + struct.pack('>I', many) + b'\\x80' * many"
        " + b'\\xa4data\\xc4\\x00')"
    ),
    "an answer that is nested deep": "def forged(): return frame(b'\\x81\\xa1x' + b'\\x91' * 900 + b'\\xc0')",
    "an error that is nested deep": (
        "body = b'\\x81\\xa9mean_mass\\x81\\xa5error' + b'\\x91' * 1000 + b'\\xc0'\n"
        "def forged(): return honest({'data': body})"
    ),
    "an error that is no text": (
        "body = msgpack.packb({'mean_mass': {'error': '\\ud800'}}, unicode_errors='surrogatepass')\n"
        "def forged(): return honest({'data': body})"
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_results_are_wrong_and_neither_an_error_nor_a_load_of_the_host(play, what):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    feedbacks, score, info = play(FORGE + FORGED[what], "DONE")
    assert (feedbacks[0], score) == ("", 0.0)
    assert info["verdict"]["error"] is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # KiB


def test_results_that_are_never_given_are_not_waited_for_long(play, monkeypatch):
    monkeypatch.setattr(judging, "READING", 1.0)
    code = f"import sys, time\nsys.modules['{RESULTS}'].take = lambda *a, **k: time.sleep(1000)"
    start = time.monotonic()
    assert play(code, "DONE")[1] == 0.0
    assert time.monotonic() - start < 15


def test_processes_that_stop_all_others_stop_not_the_guest(play):
    stop = (
        "import os, signal\nfor _ in range(3):\n    if os.fork() == 0:\n        while True:\n"
        "            try: os.kill(-1, signal.SIGSTOP)\n            except OSError: pass"
    )
    feedbacks, score, info = play(stop, "1 + 1", "DONE")
    assert score == 0.0
    assert "fault" not in info
    assert "the kernel died" in feedbacks[0] + feedbacks[1]


DEEP = "import os, sys\nos.chdir('/tmp')\nfor k in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"


@pytest.mark.parametrize(
    "end",
    [
        "",
        "os._exit(0)",
        f"sys.modules['{RESULTS}'].take = lambda *a, **k: os._exit(0)",
    ],
)
def test_folders_that_are_too_deep_for_python_are_removed_at_once(play, env, end):
    env.reset()
    pid = env.unwrapped.machine.init_pid
    assert play(DEEP + end, "DONE")[1] == 0.0
    env.reset()
    observation, *_ = env.step("import os\nprint(os.listdir('/tmp'))")
    assert observation["feedback"] == "[]"
    assert env.unwrapped.machine.init_pid == pid


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ValueError('\\ud800')", "ValueError: \\ud800"),
        (
            "class Odd:\n    def __str__(self): raise KeyError\nraise SystemExit(Odd())",
            "SystemExit, which cannot be shown",
        ),
        ("raise SystemExit('x' * (30 << 20))", "the kernel goes on"),
    ],
)
def test_an_exception_that_cannot_be_sent_does_not_end_the_kernel(play, code, told):
    feedbacks, _, _ = play("kept = 41", code, "kept + 1", "DONE")
    assert told in feedbacks[1]
    assert feedbacks[2] == "42"


@pytest.mark.parametrize("action", ["x = '\ud800'", "ASK \ud800?"])
def test_an_action_that_is_no_unicode_is_not_legal(env, action):
    env.reset()
    with pytest.raises(ActionError, match="lone surrogates"):
        env.step(action)
    assert solve(env) == 1.0


FIGURE = (
    "import os, matplotlib.figure\nclass Odd(matplotlib.figure.Figure):\n"
    "    def draw(self, renderer): {draw}\nplt.figure(FigureClass=Odd)\nNone"
)


def test_dialogues_go_on_after_figures_and_kernels_that_break():
    kinds = {"task": "penguins/ines/normal#3", "episode": "dialogue", "render_mode": "rgb_array", "code_timeout": 3.0}
    with gymnasium.make("deskgym/TableAnalysis-v0", observation=["feedback", "plot"], **kinds) as env:
        for draw in ("raise SystemExit", "os._exit(0)", "1 / 0"):
            env.reset()
            observation, *_ = env.step(FIGURE.format(draw=draw))
            assert "the figure cannot be drawn" in observation["feedback"]
            assert (observation["plot"] == 255).all()
            assert (env.render() == 255).all()
        forget = (
            "import gc, os, sys\nkind = sys.modules['deskgym.envs.guest.kernel.process'].Kernel\n"
            "own = [one for one in gc.get_objects() if type(one) is kind][0]\n"
            "own._operations['forget'] = lambda **given: os._exit(0)"
        )
        env.reset()
        env.step(forget)
        env.step("DONE")
        assert env.step("len(penguins) > 0")[0]["feedback"] == "True"
        env.reset()
        rewards = [env.step(text)[1] for text in env.unwrapped.oracle()]
        assert sum(rewards) == pytest.approx(1.0)


def test_the_arguments_of_functions_cannot_be_known_by_heart(monkeypatch):
    task = "wines/henrik/normal/commission#1"
    env = gymnasium.make("deskgym/TableAnalysis-v0", task=task, disable_env_checker=True)
    try:
        assert run_episode(env, AttackAgent("arguments by heart")).score == 0.0
        assert solve(env) == 1.0
        monkeypatch.setattr(judging.secrets, "randbits", lambda bits: 0)  # as if they stood in the file
        assert run_episode(env, AttackAgent("arguments by heart")).score == 1.0
    finally:
        env.close()
