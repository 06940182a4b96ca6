"""The catalogue of breaks fits the sources, and a plan is played until a break is found."""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import deskgym
from deskgym.benchmarks import injected_breaks
from deskgym.benchmarks.injected_breaks import Replay
from deskgym.benchmarks.injected_breaks_apply import Break, BreakError, copy_tree
from deskgym.benchmarks.injected_breaks_catalogue import BREAKS

ROOT = Path(deskgym.__file__).resolve().parents[1]
KINDS = ("check", "reader", "macro", "settle", "guest")


def normalised(source):
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def test_a_replay_is_played_by_a_command():
    argv = Replay("science", "a", interface="gui").argv()
    assert argv[:6] == ["verify", "science", "--interface", "gui", "--task", "a"]
    assert Replay("bpm", "a").argv()[:4] == ["verify", "bpm", "--task", "a"]


def test_there_are_thirty_of_all_kinds():
    assert len(BREAKS) == 30 and len({each.name for each in BREAKS}) == 30
    counts = Counter(each.kind for each in BREAKS)
    assert set(counts) == set(KINDS) and min(counts.values()) >= 4
    assert all(each.noticed_by and each.named.partition(":")[2] for each in BREAKS)


@pytest.mark.parametrize("mistake", BREAKS, ids=lambda each: each.name)
def test_a_break_changes_its_target_and_the_module_still_compiles(mistake):
    source = mistake.path(ROOT).read_text()
    broken = mistake.changed(source)
    compile(broken, str(mistake.path(ROOT)), "exec")
    assert normalised(broken) != normalised(source)


SOURCE = '''class Cell:
    """A cell."""

    def read(self, wide: bool) -> str:
        """What it holds."""
        text = "ä" + self.text  # as it is
        return text


def other() -> str:
    return text
'''


def test_only_the_named_function_is_changed():
    changed = Break("x", "reader", "cells:Cell.read", "", "", old="return text", new="return text[:-1]").changed(SOURCE)
    assert changed == SOURCE.replace("        return text\n", "        return text[:-1]\n")


def test_a_body_keeps_signature_and_docstring():
    body = 'if wide:\n    return ""\nreturn "x"'
    changed = Break("x", "reader", "cells:Cell.read", "", "", body=body).changed(SOURCE)
    head, tail = SOURCE.split('        text = "ä"')[0], "\n\n\ndef other" + SOURCE.split("\n\n\ndef other")[1]
    assert changed == f'{head}        if wide:\n            return ""\n        return "x"{tail}'


@pytest.mark.parametrize(
    ("target", "old", "says"),
    [
        ("cells:Cell.write", "return text", "the target cells:Cell.write is gone"),
        ("cells:Cell", "return text", "the target cells:Cell is no function"),
        ("cells:other", "return texts", "cells:other has 'return texts' 0 times"),
    ],
)
def test_a_target_that_is_gone_is_named(target, old, says):
    with pytest.raises(BreakError, match=says):
        Break("x", "reader", target, "", "", old=old, new="pass").changed(SOURCE)


def test_a_module_that_is_gone_is_named(tmp_path):
    with pytest.raises(BreakError, match="there is no module deskgym.gone"):
        Break("x", "reader", "deskgym.gone:f", "", "", body="pass").path(tmp_path)


def test_a_copy_has_the_links_and_what_is_not_committed(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "real").mkdir(parents=True)
    (source / "real" / "a.py").write_text("a")
    (source / "link").symlink_to("real")
    (source / ".gitignore").write_text("*.pyc\n")
    (source / "b.pyc").write_text("b")
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    copy_tree(source, target)
    assert (target / "link").is_symlink() and (target / "link" / "a.py").read_text() == "a"
    assert not (target / "b.pyc").exists()


TOLD = {"suite": "science", "source": "", "interface": "gui", "task": "a", "reasons": ["x"], "seconds": 2.0}
COMMAND = """
import json, os, sys
broken = {old!r} not in open("src/deskgym/task_suites/programs/toolkits/qt.py").read()
plan = {plan!r}
if "--plan" in sys.argv:
    print(json.dumps({{"replays": plan if broken else plan[:1], "misjudged": []}}))
    raise SystemExit
task = sys.argv[sys.argv.index("--task") + 1]
bad = task == "always" or (broken and task == "bad")
print(json.dumps({{"tasks": [{{"problems": ["oracle seed 0: score 0, must be 1"] if bad else []}}], "broken_off": ""}}))
raise SystemExit(bad)
"""


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    """Puts a script in the place of ``deskgym`` in each copy: it plans these tasks, and says how they were played."""

    def put(*tasks):
        plan = [{**TOLD, "task": task} for task in ("anyway", *tasks)]
        text = COMMAND.format(old="len(cells) - columns + 1", plan=plan)

        def copied(source, target):
            copy_tree(source / "task_suites" / "programs" / "toolkits", target / "task_suites/programs/toolkits")
            (target / "src" / "deskgym" / "cli").mkdir(parents=True)
            (target / "src" / "deskgym" / "__init__.py").touch()
            (target / "src" / "deskgym" / "task_suites").symlink_to("../../task_suites")
            (target / "src" / "deskgym" / "cli" / "__main__.py").write_text(text)

        monkeypatch.setattr(injected_breaks, "copy_tree", copied)
        out = tmp_path / "out.json"
        status = injected_breaks.main(["--only", "last-table-row-is-lost", "--out", str(out)])
        return status, json.loads(out.read_text())

    return put


def test_what_the_break_adds_is_played_until_it_is_found(scripted, capsys):
    status, data = scripted("good", "always", "bad", "more")
    (found,) = data["breaks"]
    assert status == 0 and data["planned_anyway"] == 1
    assert (found["outcome"], found["task"]) == ("found", "science:gui:bad")
    assert (found["replays"], found["played"], found["estimated"]) == (4, 3, 8.0)
    assert found["fails_anyway"] == ["science:gui:always"]
    assert "1 of 1 breaks are found" in capsys.readouterr().out


def test_a_break_that_is_missed_fails_the_run(scripted, capsys):
    status, data = scripted("good")
    assert status == 1 and data["breaks"][0]["outcome"] == "missed"
    assert "0 of 1 breaks are found" in capsys.readouterr().out


def test_a_play_without_a_report_is_no_find(monkeypatch):
    checkout = object.__new__(injected_breaks.Checkout)
    checkout.play_seconds = 1.0
    monkeypatch.setattr(checkout, "_run", lambda *_: (2, "", "deskgym: no such task\n"), raising=False)
    with pytest.raises(injected_breaks.RunError, match="no such task"):
        checkout.play(Replay("science", "a"))


def test_a_name_that_no_break_has_is_told_in_a_line(capsys):
    assert injected_breaks.main(["--only", "nothing*"]) == 2
    assert "no break has such a name" in capsys.readouterr().err


def test_help_runs_as_a_module():
    argv = [sys.executable, "-m", "deskgym.benchmarks.injected_breaks", "--help"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0 and "--at-most" in done.stdout
