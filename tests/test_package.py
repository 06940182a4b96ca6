"""The package as it is installed: what importing it costs, what the wheel holds, and which way its arrows point."""

import ast
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = ("torch", "ray", "cv2", "Xlib", "pyautogui", "dbus_fast", "matplotlib", "stable_baselines3")


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **options).stdout


def test_importing_it_is_cheap_and_loads_nothing_heavy():
    code = (
        "import sys, time; start = time.process_time(); import deskgym; seconds = time.process_time() - start;"
        f"import json; print(json.dumps([seconds, [name for name in {HEAVY!r} if name in sys.modules]]))"
    )
    runs = [json.loads(python(code)) for _ in range(3)]
    assert min(seconds for seconds, _ in runs) < 0.5
    assert all(not heavy for _, heavy in runs)


def test_no_top_level_package_takes_a_users_name(tmp_path):
    names = ("envs", "wrappers", "task_suites", "agents", "benchmarks", "examples")
    found = python(f"import importlib.util as u; print([n for n in {names!r} if u.find_spec(n)])", cwd=tmp_path)
    assert found.strip() == "[]"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a copy: a build in the checkout would leave files there, and take in older ones
    kept_out = shutil.ignore_patterns(".*", "build", "dist", "out", "*.egg-info", "__pycache__", "tests")
    shutil.copytree(ROOT, source, symlinks=True, ignore=kept_out)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, source]
    subprocess.run(command, check=True, timeout=300, cwd=folder)
    return next(folder.glob("deskgym-*.whl"))


def test_the_wheel_holds_code_tasks_and_pages_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "deskgym/envs/desktop_env.py" in names
    assert "deskgym/py.typed" in names
    assert "deskgym/envs/guest/openbox.xml" in names
    assert "deskgym/task_suites/science/tasks/kalgebra/plot-2d.yaml" in names
    assert "deskgym/task_suites/science/tasks/kalgebra/ladder/1-tab.yaml" in names
    assert any(name.startswith("deskgym/viewer/") and name.endswith(".html") for name in names)
    assert not any("/states/" in name for name in names)  # kept final states are the checkout's alone
    assert all(name.startswith(("deskgym/", "deskgym-")) or name == "deskgym_verifiers.py" for name in names)


def test_what_is_published_is_whole(wheel, tmp_path):
    """PyPI takes wheel and sdist. W002: screens that did not change; W004: migrations of Django; W009: two modules."""
    subprocess.run(
        [sys.executable, "-m", "check_wheel_contents", "--ignore", "W002,W004,W009", wheel], check=True, timeout=60
    )
    options = ("-q", "--sdist", "--no-isolation", "-o", tmp_path)
    subprocess.run([sys.executable, "-m", "build", *options, wheel.parent / "source"], check=True, timeout=300)
    (sdist,) = tmp_path.glob("deskgym-*.tar.gz")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], check=True, timeout=60)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"README.md", "LICENSE", "docs/index.md", "src/deskgym/envs/desktop_env.py", "setup.cfg"}


def test_the_wheel_imports_and_lists_its_tasks_outside_the_checkout(wheel, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "installed_base": str(home)}))
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel], check=True, timeout=120
    )
    # the dependencies come from this environment; deskgym itself must come from the wheel
    own = [entry for entry in sys.path if entry.endswith("site-packages")]
    (site / "dependencies.pth").write_text("".join(f"{entry}\n" for entry in own))
    code = (
        "import deskgym, json; from deskgym.task_suites import load_suite;"
        "print(json.dumps([deskgym.__file__, load_suite('science').ids()]))"
    )
    where, ids = json.loads(
        subprocess.run(
            [home / "bin" / "python", "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout
    )
    assert where.startswith(str(site))
    assert len(ids) >= 15


def imports_of(path):
    """What a file imports, wherever in it; but for what only type checkers import."""
    waiting = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            waiting += ast.iter_child_nodes(node)


ARROWS = (  # each imports from its own line and from those above it only
    ("_version", "packages", "envs.errors", "envs.evaluation.calls", "envs.extras", "envs.options", "envs.needs"),
    ("envs.clock", "envs.deadline", "task_suites.suites"),
    ("envs.guest",),
    ("envs.machines", "envs.displays", "envs.guest.client", "envs.guest.transfer"),  # the last two run on the host
    ("envs",),
    ("task_suites.core", "task_suites.hooks", "wrappers", "retrieval"),
    ("task_suites.programs.toolkits",),
    ("task_suites.programs",),
    ("task_suites",),
    ("task_suites.importers",),
    ("", "registration"),
    ("agents",),
    ("datasets", "trainers", "viewer", "workers"),
    ("cli",),
    ("benchmarks", "examples"),
)
STARTS = {  # the command that runs the benchmarks, and episodes that are scored again with the tasks that they name
    ("cli.bench", "benchmarks"),
    ("wrappers.recording.recorded_state", "task_suites"),
}
FOLDERS = ("envs", "wrappers", "task_suites", "agents", "deskgym", "benchmarks", "examples")


def layer_of(module):
    """The place in ``ARROWS`` of the longest name that a module of deskgym begins with."""
    found = [(len(name), k) for k, names in enumerate(ARROWS) for name in names if f"{module}.".startswith(f"{name}.")]
    return max(found, default=(0, next(k for k, names in enumerate(ARROWS) if "" in names)))[1]


def modules_of(folder):
    """The Python files of a folder of the checkout, by their names below ``deskgym``."""
    for path in (ROOT / folder).rglob("*.py"):
        parts = path.relative_to(ROOT / ("deskgym" if folder == "deskgym" else "")).with_suffix("").parts
        if not (folder == "deskgym" and parts[0] in FOLDERS):  # a link
            yield ".".join(parts).removesuffix("__init__").removesuffix("."), path


@pytest.mark.parametrize("folder", FOLDERS)
def test_arrows_point_one_way(folder):
    wrong = []
    for module, path in modules_of(folder):
        for name in imports_of(path):
            name = "" if name == "deskgym" else name.removeprefix("deskgym.") if name.startswith("deskgym.") else None
            allowed = any(module == by and name.startswith(what) for by, what in STARTS) if name else False
            if name is not None and not allowed and layer_of(name) > layer_of(module):
                wrong.append(f"{module} imports {name}")
    assert not wrong


def test_a_layer_is_that_of_the_longest_name():
    assert layer_of("envs.guest.server") < layer_of("envs.guest.client.GuestClient") < layer_of("envs.desktop_env")
    assert (
        layer_of("task_suites.programs.kalgebra") < layer_of("task_suites.science") < layer_of("registration.make_env")
    )


GENERIC = ("envs", "task_suites/core", "task_suites/hooks", "wrappers")
NAMED = {  # a generic file, and the program that it knows of, with the reason
    ("envs/guest/accessibility/walk.py", "kalgebra"): "it crashes when it is asked for cells that are gone",
    ("envs/guest/accessibility/program.py", "chromium"): "a toolkit, like Qt, whose tree follows its pixels late",
    ("envs/machines/qemu/machine.py", "science"): "the image that is taken where none is named",
    ("envs/machines/doctor/vm.py", "science"): "the same",
    ("envs/evaluation/checks/web.py", "chromium"): "the browser that is looked into where none is named",
    ("task_suites/hooks/browser.py", "chromium"): "the same",
    ("envs/provision/services.py", "shop"): "an example of a service's name",
    ("envs/machines/sandbox/rootfs.py", "mail"): "the folder /var/mail, which every system has",
}


def names_in(path):
    """The words that a file's code names: texts and identifiers, but not its docstrings and comments."""
    tree = ast.parse(path.read_text())
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_nothing_generic_names_a_program_or_a_suite():
    from deskgym.task_suites import SUITES
    from deskgym.task_suites.programs import program_names

    kinds = {"postgresql", "sqlite", "duckdb", "terminal", "views"}  # of databases and elements, to what is generic
    programs = set(program_names()) - kinds
    words = re.compile(rf"\b({'|'.join((*programs, *SUITES))})\b", re.IGNORECASE)
    wrong = [
        f"{path.relative_to(ROOT)} names {found.group()}: {text!r}"
        for folder in GENERIC
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in names_in(path)
        if (found := words.search(text)) and (str(path.relative_to(ROOT)), found.group().lower()) not in NAMED
    ]
    assert not wrong


HOST_SIDE = {"client.py", "transfer.py"}  # the host's end of the guest's protocol


GUEST_CODE = ("envs/guest", *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("task_suites/**/guest")))


@pytest.mark.parametrize("folder", GUEST_CODE)
def test_what_runs_in_the_machine_imports_nothing_of_ours_outside_the_guest(folder):
    own = ("deskgym.envs.guest", f"deskgym.{folder.replace('/', '.')}")
    wrong = [
        f"{path.name} imports {name}"
        for path in (ROOT / folder).rglob("*.py")
        if path.name not in HOST_SIDE
        for name in imports_of(path)
        if name.startswith("deskgym") and not name.startswith(own)
    ]
    assert not wrong


def test_the_guest_runtime_ships_no_host_code():
    from deskgym.envs.machines.guest_runtime import build_guest_runtime

    shipped = {path.name for path in Path(build_guest_runtime()).rglob("*.py") if "deskgym" in path.parts[-4:]}
    assert "desktop_env.py" not in shipped and "verdict.py" not in shipped


@pytest.mark.sandbox
def test_the_quickstart_runs():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "quickstart.py"], capture_output=True, text=True, check=True, timeout=120
    )
    assert "the oracle earns 1.0" in done.stdout
    assert "a random agent earns 0.0" in done.stdout
