"""Prepared layers: built once, the same for all machines that need them, and never changed by one."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.needs import Needs
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.layer_store import Layer, layers_folder, list_layers, remove_layer
from deskgym.envs.provision.layers import LayerRecipe, layer_digest, layer_paths, prepare_layer

sandbox = pytest.mark.sandbox
PAGE = Path(__file__).parents[3] / "docs" / "layers.md"


@pytest.fixture
def name():
    """A name for a layer; what is built under it, or under one that begins so, is removed in the end."""
    name = f"test_{secrets.token_hex(4)}"
    yield name
    for layer in list_layers():
        if layer.name.startswith(name):
            remove_layer(layer.path.name)
    assert not [path for path in layers_folder().iterdir() if name in path.name]


def machine_with(*recipes, **options):
    return SandboxMachine(MachineConfig(screen_size=None, layers=layer_paths(recipes), **options))


def shell(machine, script, **options):
    done = machine.run(["/bin/sh", "-c", script], **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_equal_recipes_have_one_digest_and_all_that_differs_another(tmp_path):
    (tmp_path / "a").write_text("1")
    first = LayerRecipe("x", build="true", files=(("/opt/a", tmp_path / "a"),), bases=(LayerRecipe("y"),))
    assert layer_digest(first) == layer_digest(LayerRecipe("x", "true", (), (("/opt/a", tmp_path / "a"),), first.bases))
    others = {
        layer_digest(first),
        layer_digest(LayerRecipe("x", build="true", bases=(LayerRecipe("y"),))),
        layer_digest(LayerRecipe("x", build="true", bases=(LayerRecipe("y", build="true"),))),
        layer_digest(LayerRecipe("x", build="true")),
        layer_digest(LayerRecipe("x", build="true", user="guest")),
        layer_digest(LayerRecipe("x", build="true", environment=(("A", "1"),))),
        layer_digest(LayerRecipe("x", build=("true",))),
    }
    assert len(others) == 7
    before = layer_digest(first)
    (tmp_path / "a").write_text("2")
    assert layer_digest(first) != before


def test_other_versions_of_its_packages_make_another_layer(monkeypatch):
    recipe = LayerRecipe("x", packages=("bash",))
    version = ["1.0"]
    monkeypatch.setattr("deskgym.envs.provision.layers.missing_packages", lambda names: [])
    monkeypatch.setattr("deskgym.envs.provision.layers.package_versions", lambda names: {"bash": version[0]})
    before = layer_digest(recipe)
    assert layer_digest(recipe) == before
    version[0] = "1.1"
    assert layer_digest(recipe) != before


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("deskgym.envs.provision.layers.missing_packages", list)
    with pytest.raises(MachineError, match="apt-get install no-such-package") as caught:
        layer_digest(LayerRecipe("x", packages=("no-such-package",)))
    assert caught.value.kind == "not_installed" and caught.value.lasting


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="puts in .*/nothing"):
        layer_digest(LayerRecipe("x", files=(("/opt/a", tmp_path / "nothing"),)))


@sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user cannot copy a machine's files")
def test_too_many_layers_for_one_mount_are_refused_with_a_clear_error(name):
    path = prepare_layer(LayerRecipe(name, build="echo hello > ~/a")).path
    most = 3400 // (len(f"{path}") + 3 + len(":/home/upper"))
    copies = [f"{path}-{number}" for number in range(10, 10 + most + 1)]
    for copy in copies:
        subprocess.run(["cp", "-a", path, copy], check=True)
    with SandboxMachine(MachineConfig(screen_size=None, layers=tuple(copies[1:]))) as machine:
        assert shell(machine, "cat ~/a") == "hello\n"
    with pytest.raises(MachineError, match="too many"):
        SandboxMachine(MachineConfig(screen_size=None, layers=tuple(copies))).start()


@pytest.mark.parametrize("name", ["", "A", "a b", "../a", "a--b", "-a", "a:b", "a,b"])
def test_a_name_is_a_plain_word(name):
    with pytest.raises(ValueError, match="legal are"):
        prepare_layer(LayerRecipe(name))


def test_machines_that_take_none_say_so():
    with pytest.raises(MachineError, match="machine='sandbox'") as caught:
        FakeMachine(MachineConfig(layers=("/x",)))
    assert caught.value.kind == "not_supported"
    with pytest.raises(
        MachineError, match="machine='fake' takes no .*, and x is asked for"
    ):  # and nothing is built for it
        MachineBuilder("fake").config(Needs(layers=(LayerRecipe("x", build="false"),)))


@sandbox
def test_a_machine_has_what_the_recipe_wrote(name):
    recipe = LayerRecipe(
        name,
        build=(
            "mkdir -p /opt/thing /var/lib/thing /home/user/.config; echo a > /opt/thing/a; ln -s a /opt/thing/link;"
            "chmod 750 /opt/thing/a; chown 900:901 /var/lib/thing /opt/thing/a; cp /home/user/in/x /etc/x;"
            'echo "$COLOUR" > /home/user/.config/colour; chown -R 1000:1000 /home/user/.config; echo z > /tmp/z'
        ),
        files=(("/home/user/in/x", b"x"),),
        environment=(("COLOUR", "green"),),
        user="guest",
    )
    with machine_with(recipe) as machine:
        show = "stat -c '%n %u %g %a' /opt/thing/a /var/lib/thing /home/user/.config/colour /home/user/in/x /etc/x"
        assert shell(machine, show).splitlines() == [
            "/opt/thing/a 900 901 750",
            "/var/lib/thing 900 901 755",
            "/home/user/.config/colour 1000 1000 644",
            "/home/user/in/x 1000 1000 644",
            "/etc/x 0 0 644",
        ]
        assert shell(machine, "cat ~/.config/colour; readlink /opt/thing/link; ls /tmp") == "green\na\n"
        assert shell(machine, "cat /opt/thing/link", user="guest") == "a\n"
        assert shell(machine, "ls /opt/deskgym; ls /usr/bin/env").split()  # what lies below is there
    with SandboxMachine(MachineConfig(screen_size=None)) as machine:
        assert machine.run(["ls", "/opt/thing"]).returncode != 0  # only where it is asked for


@sandbox
def test_what_machines_write_never_reaches_the_layer_or_one_another(name):
    recipe = LayerRecipe(name, build="mkdir ~/d; echo one > ~/d/a; echo two > ~/d/b")
    with machine_with(recipe) as first, machine_with(recipe) as second:
        shell(first, "echo changed > ~/d/a; rm ~/d/b; mkdir ~/d/c; chmod 700 ~/d")
        assert shell(second, "cat ~/d/a ~/d/b; ls ~/d") == "one\ntwo\na\nb\n"
        first.restore(None)
        assert shell(first, "cat ~/d/a ~/d/b; ls ~/d") == "one\ntwo\na\nb\n"


@sandbox
def test_layers_lie_over_one_another_in_order(name):
    low = LayerRecipe(f"{name}_low", build="echo low > ~/a; echo low > ~/b; echo low > ~/c")
    high = LayerRecipe(f"{name}_high", build="echo high over $(cat ~/a) > ~/b; rm ~/c; echo high > ~/d", bases=(low,))
    other = LayerRecipe(f"{name}_other", build="echo other > ~/d")
    paths = layer_paths((high, other, low))
    assert [Layer.open(layers_folder() / path).name for path in paths] == [low.name, high.name, other.name]
    with machine_with(high, other) as machine:
        assert shell(machine, "cd; tail -n 1 *").split("\n\n") == [
            "==> a <==\nlow",
            "==> b <==\nhigh over low",
            "==> d <==\nother\n",
        ]


@sandbox
def test_a_snapshot_remembers_its_layers(name):
    recipe = LayerRecipe(name, build="echo one > ~/a; echo two > ~/b")
    with machine_with(recipe) as machine, SandboxMachine(MachineConfig(screen_size=None)) as other:
        shell(machine, "echo changed > ~/a")
        snapshot = machine.snapshot()
        machine.restore(None)
        assert shell(machine, "cat ~/a ~/b") == "one\ntwo\n"
        for each in (machine, other):
            each.restore(snapshot)
            assert shell(each, "cat ~/a ~/b") == "changed\ntwo\n"
        shell(other, "rm ~/b")
        second = other.snapshot()
        machine.restore(second)
        assert shell(machine, "cd; ls; cat a") == "a\nchanged\n"
        other.restore(None)
        assert other.run(["cat", "/home/user/a"]).returncode != 0


@sandbox
def test_a_layer_in_use_is_not_removed_and_a_removed_one_is_built_again(name):
    recipe = LayerRecipe(name, build="date +%s.%N > ~/when")
    with machine_with(recipe) as machine:
        when = shell(machine, "cat ~/when")
        with pytest.raises(MachineError, match="in use") as caught:
            remove_layer(name)
        assert caught.value.kind == "in_use"
    with machine_with(recipe) as machine:
        assert shell(machine, "cat ~/when") == when
    assert [layer.name for layer in remove_layer(name)] == [name]
    with pytest.raises(MachineError, match="there is no prepared layer") as caught:
        machine.start()
    assert caught.value.kind == "not_installed"
    with machine_with(recipe) as machine:
        assert shell(machine, "cat ~/when") != when
    with pytest.raises(MachineError, match="no layer"):
        remove_layer("no_such_layer")


@sandbox
@pytest.mark.parametrize(("build", "said"), [("echo what; nosuch; true", "nosuch"), (("sleep", "9"), "within 0.2")])
def test_a_script_that_fails_is_quoted_and_leaves_nothing(name, build, said):
    with pytest.raises(MachineError, match=said) as caught:
        prepare_layer(LayerRecipe(name, build=build, timeout=0.2 if "9" in build else 30.0))
    assert caught.value.kind == "layer_failed" and caught.value.lasting
    assert not [path for path in layers_folder().iterdir() if name in path.name]


@sandbox
@pytest.mark.skipif(not PAGE.is_file(), reason="only in a checkout")
def test_the_page_says_what_is_so(name, capsys):
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block.replace('"notes"', f'"{name}"'), {})
    assert capsys.readouterr().out == "b'all.db\\n'\n"


ASK = """
import sys
from deskgym.envs.provision.layers import LayerRecipe, prepare_layer

recipe = LayerRecipe(sys.argv[1], build="sleep 1.5; date +%N > ~/when")
print(prepare_layer(recipe, lambda text, done, total: print(text, flush=True)).path)
"""


def ask(name):
    return subprocess.Popen([sys.executable, "-c", ASK, name], stdout=subprocess.PIPE, text=True)


@sandbox
def test_processes_that_ask_at_the_same_time_get_one_layer(name):
    said = [process.communicate(timeout=60)[0].splitlines() for process in [ask(name) for _ in range(3)]]
    assert len({lines[-1] for lines in said}) == 1
    assert sum("running its script" in line for lines in said for line in lines) == 1
    assert len([path for path in layers_folder().iterdir() if name in path.name]) == 1


@sandbox
def test_a_killed_builder_disturbs_nobody(name):
    with ask(name) as builder:
        assert "running its script" in builder.stdout.readline()
        builder.kill()
    assert not [layer for layer in list_layers() if layer.name == name]
    path = ask(name).communicate(timeout=60)[0].splitlines()[-1]
    with SandboxMachine(MachineConfig(screen_size=None, layers=(path,))) as machine:
        assert shell(machine, "cat ~/when").strip().isdigit()


@sandbox
def test_a_program_with_a_first_run_profile(name):
    """What a recipe starts on its own screen is there; only files are kept."""
    recipe = LayerRecipe(name, build='test -n "$DISPLAY"; sleep 60 & echo profile > ~/profile', screen_size=(640, 480))
    with machine_with(recipe) as machine:
        assert shell(machine, "cat ~/profile; pgrep -x sleep || true") == "profile\n"


@sandbox
def test_a_tasks_needs_bring_its_layers(name):
    builder = MachineBuilder("sandbox", MachineConfig(screen_size=None))
    recipe = LayerRecipe(name, build="echo hello > ~/a")
    config = builder.config(Needs(layers=(recipe,)))
    assert config == builder.config(Needs(layers=(recipe,))) and config != builder.config(Needs())
    with builder.build(config) as machine:
        assert machine.get("/home/user/a") == b"hello\n"
    assert [layer.name for layer in remove_layer(name)] == [name]
    with builder.build(builder.config(Needs(layers=(recipe,)))) as machine:  # built again
        assert machine.get("/home/user/a") == b"hello\n"
