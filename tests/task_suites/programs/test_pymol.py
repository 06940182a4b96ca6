"""PyMOL in real sandboxes: its first screen, sessions made in other ways, and files that only look like sessions."""

import gymnasium as gym
import pytest
from paid_code import finish, play

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.action.actions import Action
from deskgym.envs.observation.screen import Screen

PATH = "/home/user/work/view.pse"
SEED = 5

MAKE = f"""
import subprocess
def make(*commands):
    lines = ["load /home/user/work/1hpv.pdb, 1hpv", *commands, "save {PATH}"]
    open("/tmp/make.pml", "w").write("\\n".join(lines))
    subprocess.run(["/usr/bin/python3", "-m", "pymol.__init__", "-cq", "/tmp/make.pml"], check=True)
right = f"color {{color}}, chain {{chain}} and resi {{first}}-{{last}}"
"""


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="pymol/color", action="code", screen_size=(1280, 720)) as made:
        yield made


def reward(env, change: str) -> tuple[float, str]:
    """What an agent is paid that runs this after ``MAKE``, with the task's parameters as names; and why."""
    given = {key: env.unwrapped.task.params[key] for key in ("color", "chain", "first", "last")}
    names = "\n".join(f"{key} = {value!r}" for key, value in given.items())
    play(env, f"PATH = {PATH!r}\n{names}\n{MAKE}\n{change}")
    return finish(env)


OTHERS = {
    "nothing changed": ("make()", "color of 1hpv"),
    "another meaning of all colours": (
        "make('set_color ' + color + ', [0.1, 0.2, 0.3]', right)",
        "color of 1hpv",
    ),
    "atoms moved": ("make(right, 'translate [0.1, 0, 0], chain A')", "has an atom"),
    "atoms renamed": ("make(right, 'alter chain A and resi 1, resi=200')", "has an atom"),
    "atoms removed": ("make(right, 'remove solvent')", "atoms; right are"),
    "another object": ("make(right, 'load /usr/share/pymol/data/demo/pept.pdb, more')", "the objects are"),
    "hidden by its group": ("make(right, 'group g, 1hpv', 'disable g')", "of 1hpv"),
    "colours that are not seen": ("make(right, 'set cartoon_color, grey50')", "drawing of cartoon_color"),
    "nothing that is seen": ("make(right, 'set cartoon_transparency, 1')", "drawing of cartoon_transparency"),
    "a setting of single atoms": (
        "make(right, 'set sphere_scale, 0.1, chain A and resi 1')",
        "drawing of of single atoms",
    ),
    "smaller atoms": ("make(right, 'alter all, vdw=0.1')", "ss of 1hpv"),
    "hidden": ("make(right, 'disable 1hpv')", "of 1hpv"),
    "strands made helices": ("make(right, 'alter all, ss=\"H\"')", "ss of 1hpv"),
    "a bond gone": ("make(right, 'unbond chain A and resi 5 and name N, chain A and resi 5 and name CA')", "bonds"),
}
"""Sessions of PyMOL's that are not what was asked for: code, and what the check says."""

FILES = {
    "no file": "import os; os.path.exists(PATH) and os.remove(PATH)",
    "a link": "import os; os.symlink('/etc/passwd', PATH)",
    "a folder": "import os; os.mkdir(PATH)",
    "a molecule": "import shutil; shutil.copy('/home/user/work/1hpv.pdb', PATH)",
    "half a session": "make(right); data = open(PATH, 'rb').read(); open(PATH, 'wb').write(data[: len(data) // 2])",
    "a program": "open(PATH, 'wb').write(b'cposix\\nsystem\\n(S\"touch /tmp/was-here\"\\ntR.')",
    "a class": "open(PATH, 'wb').write(b'cpymol\\ncmd\\n.')",
    "no names": "import pickle; pickle.dump({'names': 3}, open(PATH, 'wb'), 1)",
    "names that are none": "import pickle; pickle.dump({'names': [[1, 2], 'x', {}]}, open(PATH, 'wb'), 1)",
    "numbers for a molecule": (
        "import pickle; pickle.dump({'names': [['1hpv', 0, 1, None, 1, [1] * 20, '']]}, open(PATH, 'wb'), 1)"
    ),
    "much memory": "open(PATH, 'wb').write(b'\\x80\\x02]r\\xf0\\xff\\xff\\x7f.')",
    "deep": "open(PATH, 'wb').write(b'\\x80\\x02' + b'(' * 1000000 + b'l' * 1000000 + b'.')",
    "too large": "open(PATH, 'wb').truncate(40 << 20)",
}


@pytest.mark.sandbox
def test_a_session_of_another_pymol_counts_as_well(env):
    env.reset(seed=SEED)
    assert reward(env, "make(right)")[0] == 1


def paid_for(task: str, seed: int, lines) -> tuple[float, str]:
    """What an agent is paid that has another PyMOL run the lines made of the parameters; and why."""
    with gym.make("deskgym/Science-v0", task=task, action="code", screen_size=(1280, 720)) as env:
        env.reset(seed=seed)
        script = "\n".join(lines(env.unwrapped.task.params))
        env.step(
            f"import subprocess\nopen('/tmp/make.pml', 'w').write({script!r})\n"
            "subprocess.run(['/usr/bin/python3', '-m', 'pymol.__init__', '-cq', '/tmp/make.pml'], check=True)"
        )
        _, paid, *_, info = env.step("DONE")
        return paid, str(info["verdict"]["checks"])


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("shown", "paid"), [("hide everything", 0), ("as {rep}", 1), ("as {rep}\ncolor red", 0)])
def test_a_picture_must_show_the_molecule(shown, paid):
    def lines(params):
        yield from ("load /home/user/work/pept.pdb, pept", shown.format(rep=params["kind"]["rep"]))
        yield from (f"bg_color {params['back']}", "set ray_opaque_background, 1")
        yield f"png /home/user/work/picture.png, {params['w']}, {params['h']}, ray=1"

    assert paid_for("pymol/picture", 8, lines)[0] == paid  # a ribbon in a wide picture: little is drawn


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("hidden", ["disable d1", "hide everything, d1", "group g, d1\ndisable g"])
def test_a_measure_must_be_seen(hidden):
    def lines(params):
        yield from ("load /home/user/work/1hpv.pdb, 1hpv", params["right"], *hidden.split("\n"), f"save {PATH}")

    paid, why = paid_for("pymol/distance", SEED, lines)
    assert paid == 0 and "measured are 0" in why


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("centre", "paid"), [("center resn 478", 1), ("origin resn 478", 0)])
def test_the_view_must_look_at_its_centre(centre, paid):
    def lines(params):
        yield "load /home/user/work/1hpv.pdb, 1hpv"
        yield from (line for line in params["right"].split("\n") if not line.startswith("center"))
        yield from (centre, f"save {PATH}")

    assert paid_for("pymol/turn", SEED, lines)[0] == paid


@pytest.mark.sandbox
def test_a_compressed_session_counts_as_well(env):
    env.reset(seed=SEED)
    assert reward(env, "make('set session_compression, 1', right)")[0] == 1


@pytest.mark.sandbox
def test_a_session_with_a_selection_and_a_turned_view_counts_as_well(env):
    env.reset(seed=SEED)
    assert reward(env, "make(right, 'select some, chain A', 'turn x, 30', 'zoom chain B')")[0] == 1


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(("change", "says"), OTHERS.values(), ids=OTHERS)
def test_another_session_earns_nothing(env, change, says):
    env.reset(seed=SEED)
    paid, why = reward(env, change)
    assert paid == 0 and says in why


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("change", FILES.values(), ids=FILES)
def test_files_that_are_no_sessions_earn_nothing(env, change):
    env.reset(seed=SEED)
    assert reward(env, change)[0] == 0


@pytest.mark.sandbox
@pytest.mark.slow
def test_pymol_ended_by_the_agent_earns_nothing(env):
    env.reset(seed=SEED)
    assert reward(env, "import subprocess; subprocess.run(['pkill', '-9', '-f', 'pymol.__init__'])")[0] == 0


@pytest.mark.sandbox
def test_the_first_screen_has_the_prompt_and_the_molecule():
    with gym.make(
        "deskgym/Science-v0", task="pymol/color", observation=("screenshot", "a11y"), screen_size=(1280, 720)
    ) as env:
        observation, _ = env.reset(seed=SEED)
        assert "PyMOL>" in observation["a11y"] and "Save" not in observation["a11y"]
        green = (observation["screenshot"][:, :, 1] > 150) & (observation["screenshot"][:, :, 0] < 100)
        assert green.sum() > 2000  # the cartoon


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("interface", ["any", "gui"])
def test_keys_over_the_molecule_are_a_command_unless_the_prompt_is_closed(interface):
    task = {"any": "pymol/infeasible", "gui": "gui/pymol/infeasible"}[interface]
    with gym.make("deskgym/Science-v0", task=task, interface=interface, screen_size=(1280, 720)) as env:
        env.reset(seed=SEED)
        for action in (Action("click", 500, 450), Action("type", text="remove all\n"), Action("wait", seconds=1.0)):
            env.step(action)
        removed = Screen(env.unwrapped.machine).find_all(role="text", text="*eliminated*")
        assert bool(removed) == (interface == "any")
