"""Tool environments: pins of their own, built once on the host, the same in every machine that needs them."""

import secrets
import shutil
import sys
import time
import zipfile

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.kernels import Kernel
from deskgym.envs.machines.sandbox.host import cache_folder
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.needs import Needs
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.layer_store import layers_folder, remove_layer
from deskgym.envs.provision.layers import LayerRecipe, layer_digest, layer_paths
from deskgym.envs.provision.tool_environments import ToolEnvironment, build_environment, environment_digest

MODULE = """
import sys

def main():
    print("hello from", sys.prefix, main.__code__.co_filename)
"""


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A package that pip finds without a network: greeter 1.0, with a program ``greet``."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    info = "greeter-1.0.dist-info"
    with zipfile.ZipFile(wheels / "greeter-1.0-py3-none-any.whl", "w") as file:
        file.writestr("greeter.py", MODULE)
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/entry_points.txt", "[console_scripts]\ngreet = greeter:main\n")
        file.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))


@pytest.fixture
def name():
    name = f"test_{secrets.token_hex(4)}"
    yield name
    for path in layers_folder().glob(f"{name}*"):
        remove_layer(path.name)
    left = [*layers_folder().iterdir(), *(cache_folder() / "downloads").glob("*")]
    assert not [path for path in left if name in path.name]


def test_comments_and_hashes_are_no_requirements_of_their_own(tmp_path):
    file = tmp_path / "pins.txt"
    file.write_text("# pins\na==1.0  # why\nb[x]==2.0 \\\n    --hash=sha256:00\n\n")
    assert ToolEnvironment("x", file).lines == ("a==1.0", "b[x]==2.0      --hash=sha256:00")
    assert environment_digest(ToolEnvironment("x", file)) == environment_digest(
        ToolEnvironment("x", ("a==1.0", "b[x]==2.0      --hash=sha256:00"))
    )


@pytest.mark.parametrize("line", ["a", "a>=1", "-r other.txt", "--find-links=x==1"])
def test_what_is_not_pinned_is_refused(line):
    with pytest.raises(ValueError, match="without a pin"):
        environment_digest(ToolEnvironment("x", ("b==1", line)))


def test_other_pins_and_other_names_are_other_environments():
    environments = [ToolEnvironment("x", ("a==1",)), ToolEnvironment("x", ("a==2",)), ToolEnvironment("y", ("a==1",))]
    assert len({environment_digest(each) for each in environments}) == 3
    assert len({layer_digest(LayerRecipe("z", bases=(each,))) for each in environments}) == 3


def test_a_missing_python_is_named(name):
    with pytest.raises(MachineError, match="/usr/bin/python0.0") as caught:
        build_environment(ToolEnvironment(name, ("a==1",), python="/usr/bin/python0.0"))
    assert caught.value.kind == "not_installed"


def test_one_that_is_not_built_says_how_to_get_it(name):
    environment = ToolEnvironment(name, ("a==1",))
    for items in ((environment,), (LayerRecipe(f"{name}_on", bases=(environment,)),)):
        with pytest.raises(MachineError, match=f"deskgym layers build {name}`") as caught:
            layer_paths(items)
        assert caught.value.kind == "not_installed" and caught.value.lasting


@pytest.mark.sandbox
def test_machines_share_it_read_only(name, wheel):
    environment, steps = ToolEnvironment(name, ("greeter==1.0",)), []
    layer = build_environment(environment, lambda text, done, total: steps.append((text, done, total)))
    assert any("Processing" in text and "greeter" in text and (done, total) == (1, 1) for text, done, total in steps)
    start = time.monotonic()
    assert build_environment(environment).path == layer.path and time.monotonic() - start < 1
    inside = f"/opt/deskgym/env/{name}"
    recipe = LayerRecipe(f"{name}_on", build=f"{inside}/bin/greet > ~/said", bases=(environment,))
    paths = layer_paths((recipe,))
    assert paths[0] == str(layer.path)
    with SandboxMachine(MachineConfig(screen_size=None, layers=paths)) as machine:
        said = f"hello from {inside} {inside}/lib/python"
        assert machine.run([f"{inside}/bin/greet"]).stdout.decode().startswith(said)
        assert machine.get("/home/user/said").decode().startswith(said)
        assert machine.run(["touch", f"{inside}/bin/more"]).returncode != 0
        assert machine.run(["grep", "-rIl", str(layers_folder()), inside]).stdout == b""
        shown = machine.run(["find", inside, "-not", "-user", "root", "-or", "-not", "-perm", "-a+r"])
        assert (shown.returncode, shown.stdout) == (0, b"")


@pytest.mark.sandbox
def test_kernels_have_its_libraries_in_place_of_the_hosts(name, wheel):
    environment = ToolEnvironment(name, ("greeter==1.0",))
    if environment.version != sys.version_info[:2]:
        pytest.skip(f"machines have Python {sys.version_info[:2]}, the environment {environment.version}")
    builder = MachineBuilder.of_options("sandbox", {"libraries": ("msgpack",)}, screen_size=None)
    needs = Needs(libraries=environment)
    with pytest.raises(MachineError, match=f"deskgym layers build {name}"):
        builder.config(needs)
    build_environment(environment)
    with builder.build(builder.config(needs)) as machine:
        kernel = Kernel(machine)
        kernel.open()
        assert kernel.run("import greeter; greeter.__file__").stdout.startswith(environment.libraries)
        assert "/opt/deskgym/libraries" not in kernel.run("import sys; sys.path").stdout
    assert Needs.merged(needs, Needs(glx=True)).to_dict() == {"glx": True, "libraries": name}
    assert MachineBuilder("fake").config(needs) == MachineBuilder("fake").least  # takes no layers: its own


@pytest.mark.sandbox
def test_what_pip_says_of_a_failure_is_passed_on_and_nothing_is_left(name, wheel):
    with pytest.raises(MachineError, match=r"No matching distribution found for greeter==2\.0") as caught:
        build_environment(ToolEnvironment(name, ("greeter==2.0",)))
    assert caught.value.kind == "build_failed"
    assert not [path for path in layers_folder().iterdir() if name in path.name]
    (kept,) = (cache_folder() / "downloads").glob(f"{name}*")  # for the next try, which goes on from there
    assert "greeter" in (kept / "pip.log").read_text()
    shutil.rmtree(kept)
