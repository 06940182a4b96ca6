# ruff: noqa: E501 - a table
"""Every mistake in a task file is reported with file, line and column, all of them together."""

import pickle
from pathlib import Path

import pytest

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.task_suites.core.registry import Registry
from deskgym.task_suites.core.schema import load_folders
from deskgym.task_suites.core.schema_yaml import Document, TaskFileError

GOOD = """\
id: demo/sum
title: A sum
instruction: Work out {a} + {b}.
difficulty: easy
params:
  a: {integer: [1, 9]}
  b: {choice: [2, 4]}
  gold: {formula: a + b}
setup:
  - write: {path: /home/user/x, text: "{a}"}
checks:
  - file.text: {path: /home/user/x, that: {text: "{gold:d}"}}
oracle:
  - click: {role: text}
  - type: "{gold}"
  - done:
wrong:
  guess:
    - type: "0"
    - done:
splits: {train: 0.5, test: 0.5}
"""
STATE = "  - state: {read: demo.state, that: {equals: 1}}"
CASES = {
    # name: (what is replaced, by what, line, column, what the message says)
    "unknown key": ("difficulty: easy", "dificulty: easy", 4, 1, "unknown key 'dificulty'; did you mean 'difficulty'?"),
    "missing key": ("title: A sum\n", "", 1, 1, "missing key 'title': a text"),
    "wrong type": ("title: A sum", "title: [1]", 2, 8, "legal is a text, got [1] (a list)"),
    "wrong type inside": ("splits: {train: 0.5,", "splits: {train: half,", 21, 17, "legal is a number, got 'half'"),
    "wrong literal": ("difficulty: easy", "difficulty: eazy", 4, 13, "did you mean 'easy'?"),
    "wrong boolean": ("difficulty: easy", "difficulty: easy\nfeasible: yes", 5, 11, "legal is true or false, got 'yes'"),
    "number for an instruction": ("instruction: Work out {a} + {b}.", "instruction: 5", 3, 14, "legal is a text, got 5 (a whole number)"),
    "number for a title": ("title: A sum", "title: 1.5", 2, 8, "legal is a text, got 1.5 (a number)"),
    "number for a step": ("difficulty: easy", "difficulty: easy\nverbose: [5]", 5, 11, "legal is a text, got 5"),
    "bad id": ("id: demo/sum", "id: Demo Sum", 1, 5, "legal is an id such as 'program/plot-2d'"),
    "empty text": ("title: A sum", "title: ' '", 2, 8, "title is empty"),
    "too many steps": ("title: A sum", "title: x\nmax_steps: 100000", 3, 12, "legal is 1 to 1000"),
    "empty word": ("difficulty: easy", "difficulty: easy\nvocabulary: [x, '']", 5, 17, "a word is empty"),
    "a word that is a list": ("difficulty: easy", "difficulty: easy\nvocabulary: [[5]]", 5, 14, "legal is a text, got [5]"),
    "word of nothing": ("difficulty: easy", "difficulty: easy\nvocabulary: ['{c}']", 5, 14, "unknown parameter 'c'"),
    "no key": ("difficulty: easy", "difficulty: easy\nkeys: [ctrl+s, contrl+s]", 5, 16, "legal are keys such as 'f5' and 'ctrl+s', got 'contrl+s'"),
    "no key by param": ("difficulty: easy", "difficulty: easy\nkeys: ['f{a}{b}{b}']", 5, 8, "legal are keys such as"),
    "empty key": ("difficulty: easy", "difficulty: easy\nkeys: ['']", 5, 8, "legal are keys such as"),
    "no param kind": ("{integer: [1, 9]}", "{integr: [1, 9]}", 6, 7, "unknown draw or function 'integr'; did you mean 'integer'?"),
    "two param kinds": ("{integer: [1, 9]}", "{integer: [1, 9], choice: [1]}", 6, 6, "one 'name: arguments' pair, got 2 keys"),
    "constant param": ("{integer: [1, 9]}", "5", 6, 6, "legal is a mapping, got 5"),
    "empty range": ("{integer: [1, 9]}", "{integer: [9, 1]}", 6, 16, "legal is [low, high] with low <= high"),
    "text in a range": ("{integer: [1, 9]}", "{integer: [1, x]}", 6, 20, "legal is a whole number, got 'x'"),
    "no step": ("{integer: [1, 9]}", "{number: [1, 9]}", 6, 15, "missing argument 'step': a number"),
    "zero step": ("{integer: [1, 9]}", "{integer: {bounds: [1, 9], step: 0}}", 6, 16, "a step is above 0"),
    "empty choice": ("{choice: [2, 4]}", "{choice: []}", 7, 15, "at least one item"),
    "bad name": ("  b: {choice", "  b-b: {choice", 7, 3, "a parameter's name is a Python name, got 'b-b'"),
    "formula of nothing": ("a + b}", "a + c}", 8, 19, "unknown parameter 'c'"),
    "formula with code": ("{formula: a + b}", "{formula: '().__class__'}", 8, 19, "is not legal in a formula"),
    "never true": ("setup:", "where: [{formula: a > 10}]\nsetup:", 9, 8, "did not hold in 1000 tries"),
    "draw in where": ("setup:", "where: [{integer: [0, 1]}]\nsetup:", 9, 10, "unknown function 'integer'"),
    "unknown param in text": ("Work out {a}", "Work out {c}", 3, 14, "unknown parameter 'c'; legal are a, b, gold"),
    "later param": ("{choice: [2, 4]}", '{choice: ["{gold}"]}', 7, 16, "unknown parameter 'gold'"),
    "attribute in text": ("Work out {a}", "Work out {a.real}", 3, 14, "{a.real} is not legal"),
    "bad format": ("Work out {a}", "Work out {a:q}", 3, 14, "Unknown format code 'q'"),
    "open brace": ("Work out {a}", "Work out {a", 3, 14, "write a brace twice"),
    "unknown hook": ("  - write:", "  - wriite:", 10, 5, "unknown hook 'wriite'; did you mean 'write'"),
    "hook no pair": ("  - write: {path: /home/user/x,", "  - {write: 1, run: 2,", 10, 5, "a hook is one 'name: arguments' pair, got 3 keys"),
    "unknown argument": ("{path: /home/user/x, text", "{pat: /home/user/x, text", 10, 13, "unknown argument 'pat'; did you mean 'path'?"),
    "missing argument": (', text: "{a}"', "", 10, 12, "missing argument 'text': a text"),
    "argument of wrong type by param": ('text: "{a}"', 'text: x, executable: "{a}"', 10, 54, "legal is true or false, got"),
    "no such file": ("  - write:", "  - copy: {file: no.csv, path: /tmp/x}\n  - write:", 10, 18, "there is no 'no.csv' beside the task file"),
    "file outside": ("  - write:", "  - copy: {file: ../../etc/passwd, path: /tmp/x}\n  - write:", 10, 18, "beside the task file"),
    "unknown check": ("  - file.text:", "  - file.txt:", 12, 5, "unknown check 'file.txt'; did you mean 'file.text'"),
    "unknown predicate": ("that: {text:", "that: {txt:", 12, 44, "unknown predicate 'txt'; did you mean 'text'?"),
    "predicate argument": ('that: {text: "{gold:d}"}', "that: {close: {to: x}}", 12, 56, "legal is a number or a list of (a number), got 'x'"),
    "bad expression": ('{text: "{gold:d}"}', '{matches: "(("}', 12, 53, "not a regular expression"),
    "bad bounds": ('{text: "{gold:d}"}', "{between: [3, 1]}", 12, 53, "low <= high"),
    "nested predicate": ('{text: "{gold:d}"}', "{all: [{equals: 1}, {equal: 2}]}", 12, 64, "did you mean 'equals'?"),
    "unknown reader": ("oracle:", STATE.replace("demo.state", "demo.stat") + "\noracle:", 13, 19, "unknown reader 'demo.stat'; did you mean 'demo.state'?"),
    "reader argument": ("oracle:", STATE.replace("demo.state", "{demo.state: {tab: x}}") + "\noracle:", 13, 38, "legal is a whole number"),
    "unknown step": ("  - click:", "  - clik:", 14, 5, "unknown step 'clik'; did you mean 'click'"),
    "step argument": ("click: {role: text}", "click: {rol: text}", 14, 13, "unknown argument 'rol'; did you mean 'role'?"),
    "macro argument": ("  - click: {role: text}", "  - demo.add: {n: x}", 14, 19, "legal is a whole number, got 'x'"),
    "step takes nothing": ("  - done:\nwrong", "  - done: 1\nwrong", 16, 11, "it takes no arguments, got 1"),
    "wrong script": ("    - type: \"0\"", "    - typ: \"0\"", 19, 7, "unknown step 'typ'; did you mean 'type'"),
    "no oracle": ("oracle:\n  - click: {role: text}\n  - type: \"{gold}\"\n  - done:\n", "", 1, 1, "missing key 'oracle'"),
    "no wrong": ("wrong:\n  guess:\n    - type: \"0\"\n    - done:\n", "", 1, 1, "missing key 'wrong': a mapping of names, each with a list"),
    "empty oracle": ("oracle:\n  - click: {role: text}\n  - type: \"{gold}\"\n  - done:\n", "oracle: []\n", 13, 9, "the oracle has no steps"),
    "oracle goes on": ("  - done:\nwrong", "  - press: a\nwrong", 16, 5, "the oracle ends with 'press'; right for this task is 'done'"),
    "oracle gives up": ("  - done:\nwrong", "  - fail:\nwrong", 16, 5, "right for this task is 'done'"),
    "no wrong attempt": ("  guess:\n    - type: \"0\"\n    - done:\n", "  {}\n", 18, 3, "no wrong attempt"),
    "empty wrong attempt": ("    - type: \"0\"\n    - done:\n", "    []\n", 19, 5, "'guess' has no steps"),
    "relative path": ("text: {path: /home/user/x", "text: {path: home/user/x", 12, 23, "legal is an absolute path, such as '/home/user/a.txt', got 'home/user/x'"),
    "relative path with a parameter": ("text: {path: /home/user/x", "text: {path: 'x{a}'", 12, 23, "legal is an absolute path"),
    "relative path of a table": ("  - file.text: ", "  - table.count: {in: {path: x.csv}, that: {equals: 4}}\n  - file.text: ", 12, 30, "got 'x.csv'"),
    "relative path alone": ("  - file.text: ", "  - file.exists: home/user/x\n  - file.text: ", 12, 18, "got 'home/user/x'"),
    "relative path of a command": ("  - file.text: ", "  - command: {run: ls, files: [x.py]}\n  - file.text: ", 12, 31, "got 'x.py'"),
    "no such companion": ("  - file.text: ", "  - sql: {companion: shop, query: SELECT 1, rows: [[1]]}\n  - file.text: ", 12, 22, "unknown companion 'shop'; legal are none"),
    "no checks": (GOOD[GOOD.index("checks:") : GOOD.index("oracle:")], "", 1, 1, "the task has no checks"),
    "answer not asked for": ("  - file.text: ", "  - answer.number: 4\n  - file.text: ", 12, 3, "needs 'end: answer'"),
    "shares": ("{train: 0.5, test: 0.5}", "{train: 0.5, test: 0.4}", 21, 9, "the shares add up to 0.9, not to 1"),
    "negative share": ("{train: 0.5, test: 0.5}", "{train: 1.5, test: -0.5}", 21, 9, "legal are shares above 0"),
    "split by derived": ("splits: {", "split_by: [gold]\nsplits: {", 21, 12, "unknown drawn parameter 'gold'; legal are a, b"),
    "split by nothing": ("splits: {", "split_by: []\nsplits: {", 21, 11, "split_by is empty"),
    "empty split": ("train: 0.5, test: 0.5}", "train: 0.9999, test: 0.0001}", 21, 9, "no instance of 300 is in the split 'test'"),
    "syntax": ("title: A sum", "title: [A sum", 3, 12, "not YAML"),
    "tab": ("  a: {integer", "\ta: {integer", 6, 1, "indent with blanks, never with tabs"),
    "duplicate key": ("title: A sum", "title: A sum\ntitle: B", 3, 1, "duplicate key 'title'; it is in line 2 already"),
    "infinity": ("{integer: [1, 9]}", "{choice: [.inf, 1, 2]}", 6, 16, "numbers are finite"),
    "tag": ("title: A sum", "title: !!python/object:os.system x", 2, 8, "is not legal here"),
    "own tag": ("title: A sum", "title: !secret x", 2, 8, "the tag '!secret' is not legal here"),
    "alias": ("title: A sum", "title: &t A sum\nsource: *t", 2, 8, "anchors and aliases are not legal"),
    "key not text": ("{train: 0.5, test: 0.5}", "{1: 0.5, test: 0.5}", 21, 10, "a key is a text, got '1'; put it in quotes"),
    "not a mapping": (GOOD, "- 1\n", 1, 1, "a task file is a mapping, got a list"),
    "empty": (GOOD, "# nothing\n", 1, 1, "the file is empty"),
}  # fmt: skip


def read_state(machine: object, tab: int = 0) -> dict:
    return {}


def add(screen: object, n: int):  # type: ignore[no-untyped-def]
    yield []


REGISTRY = Registry().extended(readers={"demo.state": read_state}, steps={"demo.add": add})


def problems(folder: Path) -> list[str]:
    with pytest.raises(TaskFileError) as caught:
        load_folders([folder], REGISTRY)
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # as it comes from a worker
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


def test_the_good_file_is_good(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(GOOD)
    assert list(load_folders([tmp_path], REGISTRY)) == ["demo/sum"]


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_reported_in_its_place(case: str, tmp_path: Path) -> None:
    old, new, line, column, message = CASES[case]
    assert old in GOOD
    (tmp_path / "x.yaml").write_text(GOOD.replace(old, new, 1))
    found = problems(tmp_path)
    assert any(p.startswith(f"x.yaml:{line}:{column}: ") and message in p for p in found), found
    assert len(found) == 1, found


def test_all_mistakes_of_all_files_come_together(tmp_path: Path) -> None:
    text = GOOD.replace("difficulty", "dificulty").replace("integer", "integr").replace("type:", "typ:")
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text("id: [")
    lines = [tuple(p.split(":")[:2]) for p in problems(tmp_path)]
    assert lines == [("a.yaml", "4"), ("a.yaml", "6"), ("a.yaml", "15"), ("a.yaml", "19"), ("b.yaml", "1")]


def test_a_duplicate_id_names_the_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text("# second\n" + GOOD)
    assert problems(tmp_path) == [f"b.yaml:2:5: duplicate id 'demo/sum'; {tmp_path}/a.yaml:1 has it already"]


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no folder .*nowhere"):
        load_folders([tmp_path / "nowhere"], REGISTRY)


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"a: \xc3", b"x" * (2 << 20)])
def test_a_file_that_is_no_text(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(raw)
    assert problems(tmp_path)[0].startswith("x.yaml:1:1: ")


def test_an_infeasible_task_needs_no_checks_and_a_failing_oracle(tmp_path: Path) -> None:
    text = GOOD.replace(GOOD[GOOD.index("checks:") : GOOD.index("oracle:")], "feasible: false\n")
    (tmp_path / "x.yaml").write_text(text.replace("  - done:\nwrong", "  - fail:\nwrong"))
    task = load_folders([tmp_path], REGISTRY)["demo/sum"].instance(1)
    assert not task.feasible
    (tmp_path / "x.yaml").write_text(text)
    assert "right for this task is 'fail'" in problems(tmp_path)[0]


def test_names_that_are_taken() -> None:
    with pytest.raises(TaskError, match="checks file.text are taken"):
        Registry().extended(checks={"file.text": read_state})
    with pytest.raises(TaskError, match="functions integer are taken"):
        Registry().extended(functions={"integer": read_state})


def test_scalars_are_read_as_json_does() -> None:
    data = Document.parse("[yes, on, 1:30, 2024-01-01, 010, 1e3, -2, .5, null, ~, true, 'true', 0x10, 1_000]").data
    assert data == [
        "yes",
        "on",
        "1:30",
        "2024-01-01",
        "010",
        1000.0,
        -2,
        0.5,
        None,
        None,
        True,
        "true",
        "0x10",
        "1_000",
    ]


def test_a_predicate_with_an_unknown_value_is_not_refused() -> None:
    from deskgym.envs.evaluation.calls import UNKNOWN

    for data in ({"close": {"to": UNKNOWN}}, {"between": [UNKNOWN, 1]}, {"matches": UNKNOWN}, {"all": UNKNOWN}):
        Predicate.parse(data)
