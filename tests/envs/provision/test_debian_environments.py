"""Tool environments with Debian packages: unpacked into the layer, never installed."""

import os
import secrets
import subprocess

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.host import cache_folder
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.provision.debian_environments import DebianEnvironment
from deskgym.envs.provision.layer_store import layers_folder, remove_layer
from deskgym.envs.provision.layers import layer_paths, prepare_layer
from deskgym.envs.provision.tool_environments import environment_digest

APT = """\
#!/bin/bash
# apt-get download PACKAGES
for name in "${{@:2}}"; do
  [[ $name == greeter ]] || {{ echo "E: Unable to locate package $name"; exit 100; }}
  cp {folder}/greeter.deb greeter_1.0_all.deb
done
"""
CONTROL = "Package: greeter\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: greets\n"


@pytest.fixture
def apt(tmp_path, monkeypatch):
    """An apt-get that knows one package, whose script would leave a trace."""
    tree = tmp_path / "tree"
    for path, text in (
        ("DEBIAN/control", CONTROL), ("DEBIAN/postinst", "#!/bin/sh\ntouch /tmp/greeter-was-installed\n"),
        ("usr/lib/greeter/greet", "#!/bin/sh\necho hello\n"), ("etc/greeter.conf", "loud"), ("lib/not-taken", "x"),
    ):  # fmt: skip
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
        (tree / path).chmod(0o755)
    (tree / "usr" / "lib" / "greeter" / "hello").symlink_to("greet")
    subprocess.run(["dpkg-deb", "--build", tree, tmp_path / "greeter.deb"], check=True, capture_output=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apt-get").write_text(APT.format(folder=tmp_path))
    (tmp_path / "bin" / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def name():
    name = f"test_{secrets.token_hex(4)}"
    yield name
    for path in layers_folder().glob(f"{name}*"):
        remove_layer(path.name)
    for path in (cache_folder() / "downloads").glob(f"{name}*"):
        subprocess.run(["rm", "-r", path], check=True)


def test_its_packages_are_part_of_what_it_is():
    made = [DebianEnvironment("x", (), packages=packages) for packages in ((), ("a",), ("a", "b"))]
    assert len({environment_digest(each) for each in made}) == 3


@pytest.mark.sandbox
def test_machines_have_what_was_unpacked_and_nothing_was_installed(name, apt):
    made = DebianEnvironment(name, (), packages=("greeter",))
    layer = prepare_layer(made)
    assert not (layer.path / "lib").exists()
    with SandboxMachine(MachineConfig(screen_size=None, layers=layer_paths([made]))) as machine:
        done = machine.run(["sh", "-c", "/usr/lib/greeter/hello; cat /etc/greeter.conf; ls /tmp"])
    assert done.stdout.decode().split() == ["hello", "loud"]
    assert not os.path.exists("/tmp/greeter-was-installed")


@pytest.mark.sandbox
def test_what_apt_says_of_a_failure_is_passed_on(name, apt):
    with pytest.raises(MachineError, match=r"Unable to locate package nothing") as caught:
        prepare_layer(DebianEnvironment(name, (), packages=("nothing",)))
    assert caught.value.kind == "build_failed"
