"""Every kind of mistake names its file, key and line, and hides no other file and no other mistake."""

import json

import pytest

KALGEBRA = "VM/KAlgebra/A-01.json"
NUMBERS = "VM/KAlgebra/A-02.json"
CELESTIA = "VM/Celestia/A-01.json"
GRASS = "VM/GrassGIS/A-01.json"
CHIMERAX = "VM/ChimeraX/A-01.json"
LEAN = "VM/Lean/A-01.json"
TEX = "VM/TeXstudio/A-01.json"
DUAL = "Dual/ChimeraX/A-01.json"
RAW = "Raw/Lean/A-01.json"

DELETE = object()


def at(data, path):
    """The container and the last key of a JSON path that is given as a tuple."""
    for key in path[:-1]:
        data = data[key]
    return data, path[-1]


MISTAKES = [
    # the task
    (KALGEBRA, ("steps",), "5", "steps", "must be a whole number"),
    (KALGEBRA, ("steps",), True, "steps", "must be a whole number"),
    (KALGEBRA, ("steps",), 2.5, "steps", "must be a whole number"),
    (KALGEBRA, ("steps",), 0, "steps", "at least 1"),
    (KALGEBRA, ("instruction",), DELETE, "instruction", "is missing"),
    (KALGEBRA, ("instruction",), "", "instruction", "must not be empty"),
    (KALGEBRA, ("version",), "0.2", "version", "must be '0.1'"),
    (KALGEBRA, ("version",), 0.1, "version", "must be a string"),
    (KALGEBRA, ("sort",), "Raw", "sort", "must be 'VM'"),
    (RAW, ("sort",), "VM", "sort", "must be 'Raw'"),
    (DUAL, ("sort",), "Dual", "sort", "must be 'VM'"),
    (KALGEBRA, ("type",), "Celestia", "type", "in the folder of KAlgebra"),
    (KALGEBRA, ("type",), "Kalgebra", "type", "did you mean 'KAlgebra'"),
    (KALGEBRA, ("steppes",), 5, "steppes", "is unknown here"),
    (KALGEBRA, ("snapshot",), 3, "snapshot", "must be a string"),
    (KALGEBRA, ("ans",), ["x"], "ans", "must be a string"),
    (KALGEBRA, ("penalty",), "1:5", "penalty", "is unknown here"),
    (KALGEBRA, ("query",), [], "query", "is unknown here"),
    (KALGEBRA, ("initialize",), {}, "initialize", "must be a list"),
    (KALGEBRA, ("evaluate",), [], "evaluate", "must not be empty"),
    (KALGEBRA, ("evaluate", 0), "eqn", "evaluate[0]", "must be an object"),
    (RAW, ("penalty",), "1-5", "penalty", "must look like '1:5'"),
    (RAW, ("penalty",), "0:5", "penalty", "must look like '1:5'"),
    (RAW, ("penalty",), DELETE, "penalty", "is missing"),
    (CELESTIA, ("query", 0, "type"), 4, "query[0].type", "must be 1, 2 or 3"),
    (CELESTIA, ("query", 1, "kind"), 1, "query[1].kind", "is unknown here"),
    # setup
    (KALGEBRA, ("initialize", 1, "func"), "tabb", "initialize[1].func", "did you mean 'tab'"),
    (KALGEBRA, ("initialize", 1, "func"), DELETE, "initialize[1].func", "is missing"),
    (KALGEBRA, ("initialize", 1, "func"), "map", "initialize[1].func", "no function of KAlgebra"),
    (RAW, ("initialize", 0, "func"), "touch", "initialize[0].func", "no function of Lean (Raw)"),
    (KALGEBRA, ("initialize", 1, "index"), 9, "initialize[1].index", "must be 0, 1, 2 or 3"),
    (KALGEBRA, ("initialize", 1, "indx"), 1, "initialize[1].indx", "did you mean 'index'"),
    (KALGEBRA, ("initialize", 0, "wait"), -1, "initialize[0].wait", "at least 0"),
    (KALGEBRA, ("initialize", 0, "wait"), "2", "initialize[0].wait", "must be a number"),
    (KALGEBRA, ("initialize", 0, "shell"), 1, "initialize[0].shell", "true or false"),
    (KALGEBRA, ("initialize", 0, "command"), "xterm", "initialize[0].command", "starts none of the programs"),
    (KALGEBRA, ("initialize", 0, "command"), ["kalgebra", 3], "initialize[0].command[1]", "must be a string"),
    (KALGEBRA, ("initialize", 4, "path"), "a.kal", "initialize[4].path", "must be an absolute path"),
    (KALGEBRA, ("initialize", 4, "path"), "/home/../x", "initialize[4].path", "without '..'"),
    (GRASS, ("initialize", 3, "query"), {"nam": "x"}, "initialize[3].query.name", "is missing"),
    (GRASS, ("initialize", 4, "scale"), "1", "initialize[4].scale", "must be a number"),
    (CHIMERAX, ("initialize", 3, "axis"), "w", "initialize[3].axis", "must be 'x', 'y' or 'z'"),
    (CHIMERAX, ("initialize", 7, "url"), "ftp://x", "initialize[7].url", "must look like"),
    (LEAN, ("initialize", 1, "libs"), "Mathlib", "initialize[1].libs", "must be a list"),
    (LEAN, ("initialize", 4, "expr"), "theorem T : 1 = 1 := rfl", "initialize[4].expr", "must end in 'by sorry'"),
    (LEAN, ("initialize", 4), {"func": "def", "expr": "x"}, "initialize", "exactly one 'query', has 0"),
    (LEAN, ("initialize", 3), {"func": "query", "expr": "x by sorry"}, "initialize", "exactly one 'query', has 2"),
    # checks
    (KALGEBRA, ("evaluate", 0, "type"), "equ", "evaluate[0].type", "did you mean 'eqn'"),
    (KALGEBRA, ("evaluate", 0, "type"), "info", "evaluate[0].type", "no check of KAlgebra"),
    (KALGEBRA, ("evaluate", 0, "key"), "#SIZ", "evaluate[0].key", "'#SIZE' or a list of points"),
    (KALGEBRA, ("evaluate", 0, "key", 1), [2], "evaluate[0].key[1]", "2 or 3 numbers"),
    (KALGEBRA, ("evaluate", 0, "key", 1), [2, "4"], "evaluate[0].key[1]", "2 or 3 numbers"),
    (KALGEBRA, ("evaluate", 0, "key", 1), [2, 4, 6], "evaluate[0].key[1]", "the first point has 2"),
    (KALGEBRA, ("evaluate", 0, "value"), 3, "evaluate[0].value", "must be an object"),
    (KALGEBRA, ("evaluate", 0, "value", "(7, 7)"), True, 'evaluate[0].value["(7, 7)"]', "not among the points"),
    (KALGEBRA, ("evaluate", 0, "value", "(1, 1)"), DELETE, "evaluate[0].key[0]", "no expectation"),
    (KALGEBRA, ("evaluate", 0, "value", "(1, 1)"), 1, 'evaluate[0].value["(1, 1)"]', "true or false"),
    (KALGEBRA, ("evaluate", 0, "value", "colour"), "#000000", "evaluate[0].value.colour", "must be a point"),
    (KALGEBRA, ("evaluate", 0, "value", "color"), "green", "evaluate[0].value.color", "must look like"),
    (KALGEBRA, ("evaluate", 1, "value"), -1, "evaluate[1].value", "at least 0"),
    (KALGEBRA, ("evaluate", 2, "value"), "ASK", "evaluate[2].value", "must be 'ANS', 'FAIL' or 'DONE'"),
    (KALGEBRA, ("evaluate", 2, "args"), DELETE, "evaluate[2].args", "is missing"),
    (KALGEBRA, ("evaluate", 2, "args"), [4], "evaluate[2].args[0]", "must be a string"),
    (KALGEBRA, ("evaluate", 2, "args"), ["two words"], "evaluate[2].args[0]", "has a space"),
    (DUAL, ("evaluate", 0, "args"), ["x"], "evaluate[0].args", "only with ANS"),
    (NUMBERS, ("evaluate", 0, "value"), "1.5", "evaluate[0].value", "must be a number"),
    (NUMBERS, ("evaluate", 1, "value"), 2, "evaluate[1].value", "must be a string"),
    (CELESTIA, ("evaluate", 0, "key"), "simTime", "evaluate[0].key", "must be a lambda"),
    (CELESTIA, ("evaluate", 0, "key"), "lambda d: open('x')", "evaluate[0].key", "the name 'open'"),
    (CELESTIA, ("evaluate", 0, "key"), "lambda d: d[", "evaluate[0].key", "is not a Python expression"),
    (CELESTIA, ("evaluate", 0, "key"), 7, "evaluate[0].key", "must be a string"),
    (CELESTIA, ("evaluate", 1, "pred"), "lambda key: key", "evaluate[1].pred", "must take 2 parameters, takes 1"),
    (CELESTIA, ("evaluate", 0, "value"), DELETE, "evaluate[0].value", "is missing"),
    (GRASS, ("evaluate", 0, "kwargs", "map"), ["x"], "evaluate[0].kwargs.map", "must be a string, a number"),
    (GRASS, ("evaluate", 0, "cmd"), DELETE, "evaluate[0].cmd", "is missing"),
    (CELESTIA, ("evaluate", 0, "value"), "2.5", "evaluate[0].value", "must be a number, true or false"),
    (GRASS, ("evaluate", 0, "value"), None, "evaluate[0].value", "must be a string, a number"),
    (GRASS, ("evaluate", 1, "value"), [["x"]], "evaluate[1].value", "a list of these"),
    (CHIMERAX, ("evaluate", 0, "value"), ["x"], "evaluate[0].value", "null; is"),
    (KALGEBRA, ("instruction",), "a\0b", "instruction", "has a NUL"),
    (CHIMERAX, ("evaluate", 4, "value", 1), "\0", "evaluate[4].value[1]", "has a NUL"),
    (KALGEBRA, ("initialize", 0), {"func": "tab", "index": 1}, "initialize", "must start a program with 'launch'"),
    (CHIMERAX, ("evaluate", 0, "value"), DELETE, "evaluate[0]", "either 'value' or 'pattern'"),
    (CHIMERAX, ("evaluate", 0, "pattern"), "x", "evaluate[0]", "either 'value' or 'pattern'"),
    (CHIMERAX, ("evaluate", 2, "key"), "count", "evaluate[2].key", "must be a lambda"),
    (CHIMERAX, ("evaluate", 3, "pattern"), "(", "evaluate[3].pattern", "is not a regular expression"),
    (CHIMERAX, ("evaluate", 4, "value"), "atom 1", "evaluate[4].value", "must be a list"),
    (CHIMERAX, ("evaluate", 6, "value"), "lambda x: x", "evaluate[6].value", "must take 0 parameters"),
    (LEAN, ("evaluate", 0, "key"), "x", "evaluate[0].key", "is unknown here"),
    (TEX, ("evaluate", 0, "file"), DELETE, "evaluate[0].file", "is missing"),
    (TEX, ("evaluate", 1, "source"), "", "evaluate[1].source", "must not be empty"),
    (TEX, ("evaluate", 2, "pattern"), "[", "evaluate[2].pattern", "is not a regular expression"),
]


@pytest.mark.parametrize(("file", "path", "value", "key", "message"), MISTAKES, ids=lambda part: None)
def test_mistake(files, copy_of, file, path, value, key, message):
    holder, last = at(files[file], path)
    if value is DELETE:
        del holder[last]
    else:
        holder[last] = value
    collection = copy_of(files)
    found = [problem for problem in collection.problems if problem.key == key and message in problem.message]
    assert found, [str(problem) for problem in collection.problems]
    assert {problem.file for problem in collection.problems} == {file}
    assert str(found[0]).startswith(f"{file}:{found[0].line}: {key}: ")
    assert len(collection) == len(files) - 1


def test_line_of_a_mistake(files, copy_of):
    files[KALGEBRA]["evaluate"][0]["value"]["(1, 1)"] = "yes"
    (problem,) = copy_of(files).problems
    lines = json.dumps(files[KALGEBRA], indent=4, ensure_ascii=False).splitlines()
    assert '"(1, 1)": "yes"' in lines[problem.line - 1]


def test_all_mistakes_of_a_file_are_reported_together(files, copy_of):
    data = files[KALGEBRA]
    data["steps"] = "five"
    data["extra"] = 1
    data["initialize"][1]["index"] = "one"
    data["evaluate"][2]["value"] = "MAYBE"
    files[CELESTIA]["evaluate"][0]["key"] = "lambda x: eval(x)"
    collection = copy_of(files)
    assert {(problem.file, problem.key) for problem in collection.problems} == {
        (KALGEBRA, "steps"),
        (KALGEBRA, "extra"),
        (KALGEBRA, "initialize[1].index"),
        (KALGEBRA, "evaluate[2].value"),
        (CELESTIA, "evaluate[0].key"),
    }
    assert len(collection) == len(files) - 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{\n "type": "KAlgebra",\n "sort" "VM"}', 3, "is not JSON: Expecting ':'"),
        ("", 1, "is not JSON"),
        ("[]", 1, "must hold an object"),
        ("null", 1, "must hold an object"),
        ('{"steps": NaN}', 1, "NaN is not a JSON number"),
        ('{"steps": 1' + "0" * 5000 + "}", 1, "cannot be read"),
        ("[" * 5000 + "]" * 5000, 1, "nested too deeply"),
    ],
)
def test_bad_json(files, copy_of, text, line, message):
    collection = copy_of(files | {KALGEBRA: text})
    (problem,) = collection.problems
    assert (problem.file, problem.line) == (KALGEBRA, line)
    assert message in problem.message
    assert len(collection) == len(files) - 1


def test_not_utf8(files, copy_of, tmp_path):
    copy_of(files)
    (tmp_path / "tasks" / KALGEBRA).write_bytes(b'{"type": "\xff"}')
    (problem,) = copy_of({}).problems
    assert problem.file == KALGEBRA and "utf-8" in problem.message


def test_key_given_twice(files, copy_of):
    text = json.dumps(files[KALGEBRA], indent=1).replace('"steps": 5', '"steps": 5,\n "steps": 6')
    (problem,) = copy_of(files | {KALGEBRA: text}).problems
    assert (problem.line, problem.key, problem.message) == (5, "steps", "is given twice")


def test_duplicate_ids(files, copy_of):
    files["VM/KAlgebra/more/A-01.json"] = files[KALGEBRA]
    collection = copy_of(files)
    (problem,) = collection.problems
    assert problem.file == "VM/KAlgebra/more/A-01.json"
    assert problem.message == f"has the same task id as {KALGEBRA}"
    assert len(collection) == len(files) - 1


@pytest.mark.parametrize("name", ["VM/Blender/A-01.json", "VM/A-01.json"])
def test_file_outside_a_program(files, copy_of, name):
    (problem,) = copy_of(files | {name: files[KALGEBRA]}).problems
    assert problem.file == name and "VM/{KAlgebra,Celestia," in problem.message
