"""What is said where the libraries of an extra are not installed: real interpreters that cannot import them."""

import subprocess
import sys

import pytest

from deskgym.envs.extras import MissingLibrary, missing_extras, needs_extra

BLOCKED = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
{code}
"""


@pytest.mark.parametrize(
    ("extra", "library", "code"),
    [
        ("rl", "torch", "import deskgym.agents.pointer_policy"),
        ("minari", "minari", "from deskgym.datasets import load_dataset"),
        ("minari", "h5py", "from deskgym.datasets import load_dataset"),
        ("openenv", "fastapi", "import deskgym.trainers.openenv"),
        ("verifiers", "verifiers", "import deskgym.trainers.verifiers_env"),
        ("vnc", "vncdotool", "import deskgym.envs.machines.vnc.machine"),
        ("ray", "ray", "from deskgym.envs.ray.placement import require_ray; require_ray()"),
    ],
)
def test_an_import_says_how_to_get_what_is_missing(extra, library, code):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(names=[library], code=code)], capture_output=True, text=True
    )
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and f" {library}, which is not installed: {sys.executable} -m pip install" in last
    assert last.endswith(f"'deskgym[{extra}]'")


@pytest.mark.parametrize(
    ("extra", "library", "argv"),
    [
        ("minari", "minari", ["demos", "science", "--out", "{tmp}"]),
        ("view", "websockets", ["view", "--live"]),
        ("tables", "pandas", ["run", "table_analysis", "--agent", "noop", "--record", "{tmp}"]),
        ("tables", "pandas", ["history", "build", "{tmp}/turns.db"]),
        ("plot", "matplotlib", ["bench", "--out", "{tmp}"]),
    ],
)
def test_a_command_says_it_in_one_line(extra, library, argv, tmp_path):
    code = "from deskgym.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [word.format(tmp=tmp_path) for word in argv]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(names=[library], code=code), *words], capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert library in done.stderr and (f"[{extra}]" in done.stderr or "deskgym install table_analysis" in done.stderr)
    assert not list(tmp_path.iterdir())


def test_only_what_is_not_ours_is_a_missing_library():
    with pytest.raises(ModuleNotFoundError), needs_extra("rl", "this needs"):
        import deskgym.no_such_module  # noqa: F401
    with pytest.raises(MissingLibrary, match="this needs no_such_library, which"), needs_extra("rl", "this needs"):
        import no_such_library  # noqa: F401


def test_doctor_lists_the_extras_that_are_not_installed(tmp_path, monkeypatch):
    from deskgym.cli.doctor import suite_checks

    installation = tmp_path / "deskgym-9.dist-info"
    installation.mkdir()
    wants = ["no-such-thing>=2; extra == 'rl'", "numpy; extra == 'vnc'", "nor-this; extra == 'dev'"]
    lines = "".join(f"Requires-Dist: {line}\n" for line in wants)
    lines += "".join(f"Provides-Extra: {name}\n" for name in ("rl", "vnc", "dev"))
    (installation / "METADATA").write_text(f"Metadata-Version: 2.1\nName: deskgym\nVersion: 9\n{lines}")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert missing_extras() == {"rl": ["no-such-thing"]}
    (check,) = [check for check in suite_checks() if check.name == "extras"]
    assert check.found == "not installed: rl (no-such-thing)" and check.fix.endswith("pip install 'deskgym[NAME]'")
