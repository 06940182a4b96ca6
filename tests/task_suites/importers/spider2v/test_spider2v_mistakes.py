"""Every kind of mistake names its file, key and line, and hides no other file and no other mistake."""

import json
from pathlib import Path

import pytest

from deskgym.envs.errors import TaskError
from deskgym.task_suites.importers import spider2v

DBT, TWIN, EXCEL, EXCEL_TWIN = "dbt/aaaa1111", "dbt/bbbb2222", "excel/cccc3333", "excel/dddd4444"
DELETE = object()
RULES = ("evaluator", "options", 0, "rules")
SRC = ("config", 0, "parameters", "src")


def file_of(task_id):
    return f"{task_id}/{task_id.split('/')[1]}.json"


MISTAKES = [
    # the task
    (DBT, ("id",), "else", "id", "must be the folder's name 'aaaa1111'"),
    (DBT, ("snapshot",), "excel", "snapshot", "must be the folder's name 'dbt'"),
    (DBT, ("instruction",), DELETE, "instruction", "is missing"),
    (DBT, ("instruction",), "", "instruction", "must not be empty"),
    (DBT, ("source",), "https://x", "source", "must be a list"),
    (DBT, ("related_apps", 1), "terminl", "related_apps[1]", "must be 'airbyte'"),
    (DBT, ("tags",), ["cli", "abstract"], "tags", "exactly one of 'data_analysis_and_visualization'"),
    (DBT, ("tags", 0), "tui", "tags[0]", "is 'tui'"),
    (DBT, ("tags",), ["cli", "gui", "data_transformation", "abstract"], "tags", "has ['cli', 'gui']"),
    (DBT, ("action_number",), 0, "action_number", "at least 1"),
    (DBT, ("action_number",), "6", "action_number", "must be a whole number"),
    (DBT, ("context",), "x", "context", "is unknown here"),
    (DBT, ("counterpart",), DELETE, "counterpart", "is missing"),
    (DBT, ("counterpart",), "zzzz9999", "counterpart", "must be the name of a task in examples/dbt"),
    (DBT, ("counterpart",), "aaaa1111", "counterpart", "must be the other instruction of the same task"),
    # the setup
    (DBT, ("config",), {}, "config", "must be a list"),
    (DBT, ("config",), [], "config", "must not be empty"),
    (DBT, ("config", 0, "type"), "copyfile", "config[0].type", "no step of the setup, legal are 'activate_window'"),
    (DBT, ("config", 1, "type"), "google_chrom_browser", "config[1].type", "did you mean 'google_chrome_browser'"),
    (DBT, ("config", 0, "parameters"), DELETE, "config[0].parameters", "is missing"),
    (DBT, ("config", 0, "parameters"), [], "config[0].parameters", "must be an object"),
    (DBT, ("config", 0, "wait"), 1, "config[0].wait", "is unknown here"),
    (DBT, ("config", 0, "parameters", "dst"), "/x", "config[0].parameters.dst", "did you mean 'dest'"),
    (DBT, ("config", 0, "parameters", "dest"), "a.sh", "config[0].parameters.dest", "must be an absolute path"),
    (DBT, ("config", 1, "parameters", "urls"), ["bing"], "config[1].parameters.urls[0]", "must begin with http://"),
    (DBT, ("config", 1, "parameters", "full_screen"), 1, "config[1].parameters.full_screen", "true or false"),
    (DBT, ("config", 1, "parameters", "debugging_port"), 70000, "config[1].parameters.debugging_port", "at most 65535"),
    # files of the copy
    (DBT, SRC, "/etc/passwd", "config[0].parameters.src", "must be a path such as 'evaluation_examples/examples/"),
    (DBT, SRC, "evaluation_examples/../x", "config[0].parameters.src", "must be a path such as"),
    (DBT, SRC, "evaluation_examples/examples/dbt", "config[0].parameters.src", "is a folder, must be a file"),
    # the evaluator
    (DBT, ("evaluator",), DELETE, "evaluator", "is missing"),
    (DBT, ("evaluator", "func"), DELETE, "evaluator.func", "is missing"),
    (DBT, ("evaluator", "func"), "check_include", "evaluator.func", '"check_include" is no metric function'),
    (DBT, ("evaluator", "func"), [], "evaluator.func", "must not be empty"),
    (DBT, ("evaluator", "conj"), "xor", "evaluator.conj", "must be 'and' or 'or'"),
    (DBT, ("evaluator", "result"), DELETE, "evaluator.result", "is missing"),
    (DBT, ("evaluator", "result"), [], "evaluator.result", "must be an object"),
    (DBT, ("evaluator", "result", "type"), "vm_fil", "evaluator.result.type", "did you mean 'vm_file'"),
    (DBT, ("evaluator", "result", "src"), DELETE, "evaluator.result.src", "is missing"),
    (DBT, ("evaluator", "result", "retries"), 3, "evaluator.result.retries", "is unknown here"),
    (DBT, ("evaluator", "expected"), DELETE, "evaluator.expected", "is missing"),
    (DBT, ("evaluator", "expected"), {}, "evaluator.expected.type", "is missing"),
    (DBT, ("evaluator", "expected", "type"), "local_file", "evaluator.expected.type", "of check_include_exclude"),
    (DBT, ("evaluator", "expected", "rules"), {}, "evaluator.expected.rules", "must have 'include' or 'exclude'"),
    (DBT, ("evaluator", "expected", "rules", "incl"), [], "evaluator.expected.rules.incl", "did you mean 'include'"),
    (DBT, ("evaluator", "expected", "rules", "include", 0), 1, "evaluator.expected.rules.include[0]", "be a string"),
    (DBT, ("evaluator", "options"), {"strict": True}, "evaluator.options.strict", "is unknown here"),
    (DBT, ("evaluator", "options"), [], "evaluator.options", "must be an object"),
    (DBT, ("evaluator", "postconfig", 0, "parameters", "seconds"), "1", "evaluator.postconfig[0].parameters.seconds",
     "must be a number"),
    (EXCEL, ("evaluator", "result"), [], "evaluator.result", "must be a list of 2, one for each function"),
    (EXCEL, ("evaluator", "expected", 1), {"type": "rule"}, "evaluator.expected[1]", "takes the result alone"),
    (EXCEL, ("evaluator", "func", 1), "exists", "evaluator.func[1]", '"exists" is no metric function'),
    (EXCEL, (*RULES, 0, "type"), "sheet", "evaluator.options[0].rules[0].type", "no rule of compare_table"),
    (EXCEL, (*RULES, 0, "sheet_idx1"), "Sheet1", "evaluator.options[0].rules[0].sheet_idx1", "must look like"),
    (EXCEL, (*RULES, 1, "chart_props", 0), "colour", "evaluator.options[0].rules[1].chart_props[0]", "must be 'type'"),
    (EXCEL, (*RULES, 2, "props", "bold"), {}, "evaluator.options[0].rules[2].props.bold", "must be 'value'"),
    (EXCEL, (*RULES, 2, "coordinate"), "1A", "evaluator.options[0].rules[2].coordinate", "must look like"),
]  # fmt: skip


@pytest.mark.parametrize(("task_id", "path", "value", "key", "message"), MISTAKES, ids=lambda part: None)
def test_mistake(files, copy_of, task_id, path, value, key, message):
    holder = files[task_id]
    for step in path[:-1]:
        holder = holder[step]
    if value is DELETE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    collection = copy_of(files)
    found = [problem for problem in collection.problems if problem.key == key and message in problem.message]
    assert found, [str(problem) for problem in collection.problems]
    assert {problem.file for problem in collection.problems} == {file_of(task_id)}
    assert str(found[0]).startswith(f"{file_of(task_id)}:{found[0].line}: {key}: ")
    assert len(collection) == len(files) - 1


def test_all_mistakes_of_a_file_are_reported_together(files, copy_of):
    files[DBT]["action_number"] = "six"
    files[DBT]["config"][0]["parameters"]["dest"] = 5
    files[DBT]["evaluator"]["result"]["dest"] = "eval.sh"
    files[EXCEL]["evaluator"]["conj"] = 1
    collection = copy_of(files)
    assert {(problem.file, problem.key) for problem in collection.problems} == {
        (file_of(DBT), "action_number"),
        (file_of(DBT), "config[0].parameters.dest"),
        (file_of(DBT), "evaluator.result.dest"),
        (file_of(EXCEL), "evaluator.conj"),
    }
    assert [task.id for task in collection.tasks] == [TWIN, EXCEL_TWIN]  # whose twins are there, with mistakes
    with pytest.raises(TaskError, match=f"{DBT!r} has mistakes:\n{file_of(DBT)}:"):
        collection[DBT]


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is not JSON"), ("[]", "must hold an object"), ("", "is not JSON")]
)
def test_bad_json(files, copy_of, text, message):
    collection = copy_of(files | {DBT: text})
    (problem,) = collection.problems
    assert problem.file == file_of(DBT) and message in problem.message
    assert len(collection) == len(files) - 1


def test_a_twin_that_is_set_up_or_judged_in_another_way(files, copy_of):
    files[TWIN]["evaluator"]["expected"]["rules"]["include"] = ["done"]
    collection = copy_of(files)
    (problem,) = collection.problems
    assert (problem.file, problem.key) == (file_of(TWIN), "counterpart")
    assert "must have the same config and evaluator, but those of dbt/aaaa1111 differ" in problem.message


def test_twins_that_are_not_mutual(files, copy_of):
    files["dbt/eeee5555"] = files[TWIN] | {"id": "eeee5555"}
    collection = copy_of(files)
    (problem,) = collection.problems
    assert problem.file == file_of("dbt/eeee5555")
    assert "must be mutual; the counterpart of dbt/aaaa1111 is dbt/bbbb2222" in problem.message


def test_a_link_out_of_the_copy_is_not_followed(files, written, tmp_path):
    root = written(files)
    secret = tmp_path.parent / f"{tmp_path.name}.secret"
    secret.write_text("secret")
    script = root / "evaluation_examples/examples" / DBT / "eval.sh"
    script.unlink()
    script.symlink_to(secret)
    problems = spider2v.load(root).problems
    assert problems and {problem.file for problem in problems} == {file_of(DBT)}
    assert "leads out of the copy" in problems[0].message


def test_a_missing_file_is_a_reason_and_no_mistake(files, written):
    root = written(files)
    (root / "evaluation_examples/examples" / EXCEL / "gold.xlsx").unlink()
    collection = spider2v.load(root)
    assert not collection.problems
    assert collection[EXCEL].missing == (f"evaluation_examples/examples/{EXCEL}/gold.xlsx",)
    assert not collection[EXCEL_TWIN].missing


def test_folders_that_are_no_tasks(files, written):
    examples = written(files) / "evaluation_examples/examples"
    (examples / "template.json").write_text("// no JSON")
    (examples / "excel/empty").mkdir()
    (examples / "word/eeee5555").mkdir(parents=True)
    collection = spider2v.load(examples.parents[1])
    assert {problem.file for problem in collection.problems} == {
        "excel/empty/empty.json",
        "word/eeee5555/eeee5555.json",
    }
    assert len(collection) == len(files)


def test_mistakes_of_a_list_hide_no_task(files, copy_of):
    collection = copy_of(files, test_all={"dbt": ["aaaa1111", "aaaa1111", 5], "word": []}, test_one={"dbt": "x"})
    assert {(problem.file, problem.key) for problem in collection.problems} == {
        ("test_all.json", "dbt[1]"),
        ("test_all.json", "dbt[2]"),
        ("test_all.json", "word"),
        ("test_one.json", "dbt"),
    }
    assert len(collection) == len(files)
    assert collection.lists == {"test_all": (DBT,), "test_one": ()}


@pytest.mark.parametrize("make", ["missing", "file", "empty", "no tasks"])
def test_wrong_folders(tmp_path, make):
    folder = tmp_path / "x"
    if make == "file":
        folder.write_text("")
    elif make == "empty":
        folder.mkdir()
    elif make == "no tasks":
        (folder / "evaluation_examples/examples/dbt").mkdir(parents=True)
    with pytest.raises(TaskError, match="examples/dbt/ID/ID.json") as caught:
        spider2v.load(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("inner", ["", "evaluation_examples", "evaluation_examples/examples"])
def test_right_folders(files, written, inner):
    assert len(spider2v.load(Path(written(files), inner))) == len(files)


def test_line_of_a_mistake(files, copy_of):
    files[DBT]["evaluator"]["result"]["dest"] = "here"
    (problem,) = copy_of(files).problems
    assert '"dest": "here"' in json.dumps(files[DBT], indent=4).splitlines()[problem.line - 1]
