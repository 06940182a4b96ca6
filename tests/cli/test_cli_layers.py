"""``deskgym layers`` and ``deskgym install``, with a program of the user's that has layers."""

import json
import secrets

import pytest

from deskgym.cli import main
from deskgym.envs.machines import packages
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.provision.layer_store import list_layers, remove_layer

PROGRAM = """
from deskgym.envs.needs import Needs
from deskgym.envs.provision.layers import LayerRecipe
from deskgym.task_suites.core.program import Program

BASE = LayerRecipe("NAME_base", build="echo base > ~/base")
TOP = LayerRecipe("NAME_top", build="echo TEXT > ~/top", bases=(BASE,))
PROGRAM = Program(name="NAME", title="Toy", needs=Needs(layers=(TOP,)))
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Writes the program anew, with another text in its recipe."""
    name = f"toy{secrets.token_hex(4)}"
    monkeypatch.setattr(packages, "package_versions", dict.fromkeys)

    def write(text):
        folder = tmp_path / text
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(PROGRAM.replace("NAME", name).replace("TEXT", text))
        monkeypatch.setenv("DESKGYM_PROGRAMS", str(folder))
        return name

    yield write
    for layer in list_layers():
        if layer.name.startswith(name):
            remove_layer(layer.path.name)


def states(capsys, name):
    assert main(["layers", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    return [(row["recipe"], row["state"]) for row in rows if row["recipe"].startswith(name)]


@pytest.mark.sandbox
def test_layers_are_built_listed_and_removed(toy, capsys):
    name = toy("one")
    assert states(capsys, name) == [(f"{name}_base", "missing"), (f"{name}_top", "missing")]
    assert main(["install", name, "--dry-run"]) == 0
    assert capsys.readouterr().out == f"deskgym layers build {name}_base\ndeskgym layers build {name}_top\n"
    assert main(["install", name]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("built 2 layers, ") and out.count("\n") == 1
    assert [line.partition("-")[0] for line in err.splitlines()] == [f"1 of 2: {name}_base", f"2 of 2: {name}_top"]
    assert main(["install", name]) == 0
    assert capsys.readouterr().out == f"all packages of {name} are installed\n"
    assert main(["layers", "build", name]) == 0
    assert capsys.readouterr().out.count("is built already") == 2
    assert main(["layers", "list"]) == 0
    assert capsys.readouterr().out.count("present") >= 2
    assert states(capsys, name) == [(f"{name}_base", "present"), (f"{name}_top", "present")]

    toy("two")
    assert sorted(states(capsys, name)) == [
        (f"{name}_base", "present"),
        (f"{name}_top", "missing"),
        (f"{name}_top", "older"),
    ]
    old = next(layer for layer in list_layers() if layer.name == f"{name}_top")
    with SandboxMachine(MachineConfig(screen_size=None, layers=old.stack)):
        assert main(["layers", "remove", "--unused"]) == 0
        assert f"{old.path.name} is in use" in capsys.readouterr().err
    assert main(["layers", "remove", "--unused"]) == 0
    assert old.path.name in capsys.readouterr().out
    assert states(capsys, name) == [(f"{name}_base", "present"), (f"{name}_top", "missing")]
    assert main(["layers", "build", f"{name}_top", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["bytes"] == len("two\n")
    assert main(["layers", "remove", f"{name}_top", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["recipe"] == f"{name}_top"


def test_wrong_use_is_said_in_one_line(toy, capsys):
    name = toy("one")
    assert main(["layers", "build", f"{name}_tp"]) == 1
    assert f"did you mean '{name}_top'" in capsys.readouterr().err
    assert main(["layers", "remove", "no_such_layer"]) == 1
    assert "no layer 'no_such_layer' is built" in capsys.readouterr().err
    for arguments in ([], ["x", "--unused"]):
        with pytest.raises(SystemExit) as ended:
            main(["layers", "remove", *arguments])
        assert ended.value.code == 2 and "--unused" in capsys.readouterr().err
