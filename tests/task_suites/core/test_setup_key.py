"""What a setup is known by: equal for equal setups, different for all others."""

from collections import defaultdict
from functools import partial
from pathlib import Path

from deskgym.envs.episode import setup_key
from deskgym.envs.evaluation.evaluator import Evaluator
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.task_suites import load_suite
from deskgym.task_suites.core.setup_key import digest
from deskgym.task_suites.core.task import Hook, Task
from deskgym.task_suites.hooks import files, programs, waits
from deskgym.task_suites.importers.scienceboard.task import InitItem
from deskgym.task_suites.importers.scienceboard.tasks import hooks as scienceboard_hooks


def key(*hooks, number=1):
    task = Task(f"demo/x#{number}", "Do it.", Evaluator([], "fail"), lambda screen: iter([]), hooks=hooks, seed=number)
    assert setup_key(task) == task.setup_key
    return task.setup_key


def hook(function, **given):
    return Hook("hook", partial(function, **given))


def test_the_science_suite_shares_setups_that_say_the_same():
    suite = load_suite("science")
    keys = defaultdict(set)
    for name in suite.ids():
        for seed in range(3):
            task = suite.get(name) if suite.templates[name].fixed else suite.get(name, seed)
            told = [(one.name, one.run.func, repr(one.run.keywords)) for one in task.hooks]
            keys[task.setup_key].add(repr(told))
    assert all(len(told) == 1 for told in keys.values()), "different setups with one key"
    told = [one for several in keys.values() for one in several]
    assert len(told) == len(set(told)), "one setup with several keys"
    plot = [suite.get("kalgebra/plot-2d", seed).setup_key for seed in range(5)]
    assert len({*plot, suite.get("kalgebra/set-variable", 1).setup_key}) == 1
    assert len({suite.get("kalgebra/change-function", seed).setup_key for seed in range(40)}) > 5


def test_scienceboards_setups_have_keys():
    launch = InitItem("launch", {"command": "kalgebra", "program": "kalgebra"})
    plots = [InitItem("func_2d", {"expr": text}) for text in "xxy"]
    one, same, other = (key(*scienceboard_hooks((launch, plot)), number=n) for n, plot in enumerate(plots))
    assert one == same != other


def test_each_argument_counts():
    base = hook(files.write, path="/tmp/a", text="1")
    others = [
        hook(files.write, path="/tmp/a", text="2"),
        hook(files.write, path="/tmp/a", text=1),
        hook(files.write, path="/tmp/a", text="1", executable=True),
        hook(files.write_bytes, path="/tmp/a", text="1"),
        hook(programs.run, command=["true"]),
        hook(programs.run, command=["true", ""]),
        hook(programs.run, command="true"),
        hook(programs.run, command=["true"], env={"A": "1", "B": "2"}),
        hook(programs.run, command=["true"], env={"B": "2", "A": "1"}),  # the order may count
        hook(waits.wait_for_file, path="/tmp/a", that=Predicate.parse({"equals": "x"})),
        hook(waits.wait_for_file, path="/tmp/a", that=Predicate.parse({"equals": "y"})),
        Hook("another", base.run),
    ]
    keys = [key(base), *map(key, others), key(base, base), key(base, others[0]), key(others[0], base), key()]
    assert len(set(keys)) == len(keys)
    assert keys[0] == key(hook(files.write, path="/tmp/a", text="1"), number=2)
    assert key(others[-2]) == key(hook(waits.wait_for_file, path="/tmp/a", that=Predicate.parse({"equals": "y"})))


def test_the_contents_of_files_count(tmp_path):
    def copied(path):
        return digest([hook(files.copy, file=path, path="/tmp/a")])

    folder = tmp_path / "folder"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "file").write_text("1")
    same = tmp_path / "same"
    (same / "in").mkdir(parents=True)
    (same / "in" / "file").write_text("1")
    before = copied(folder), copied(folder / "in" / "file")
    assert before[0] == copied(same) != before[1]
    (folder / "in" / "file").write_text("2")
    assert before[0] != copied(folder) and before[1] != copied(folder / "in" / "file")
    (folder / "in" / "file").write_text("1")
    (folder / "in" / "file").chmod(0o755)
    assert before[1] != copied(folder / "in" / "file")
    assert copied(Path("/no/such/file")) is None


def test_what_nobody_can_tell_is_its_tasks_own():
    def made(text):
        return lambda setup: setup.machine.put("/tmp/a", text)

    for unclear in (made("a"), partial(files.write, text=object()), files.write.__call__, partial(made("a"), x=1)):
        assert digest([Hook("x", unclear)]) is None
        assert key(Hook("x", unclear), number=1) == "demo/x#1 1" != key(Hook("x", unclear), number=2)
