"""Letters, verdicts, recall, templates and scripts: the parts of Tapilot-Crossing's scoring that run nothing."""

import ast
import contextlib
import io
import json
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest
import tapilot_fixtures as fixtures
from hypothesis import given
from hypothesis import strategies as st

from deskgym.task_suites.importers.tapilot import scripts
from deskgym.task_suites.importers.tapilot.answers import chosen_letter, right_options
from deskgym.task_suites.importers.tapilot.facts import facts_of
from deskgym.task_suites.importers.tapilot.outputs import (
    Statement,
    corrected_verdicts,
    paper_verdicts,
    slots,
    statements,
)
from deskgym.task_suites.importers.tapilot.prompts import messages_of, split_template
from deskgym.task_suites.importers.tapilot.recall import called, paper_recall, recall
from deskgym.task_suites.importers.tapilot.turn import Template

FUNCTIONS = {"mean_of", "pick", "read_csv_file"}


@pytest.mark.parametrize(
    ("answer", "layout", "letter"),
    [
        ("I think <choice>C. both</choice>", "folders", "C"),
        ("Thought\nAnswer: D.", "folders", "D"),
        ("Thought\nAnswer:D", "folders", ""),
        ("Thought\nAnswer:D", "lines", "D"),
        ("<choice>A</choice>\nAnswer: A", "lines", ""),
        ("A simple case, so C", "folders", "A"),
        ("It is simple, so the answer is: **C**", "lines", "C"),
        ("see B. right", "lines", "B"),
        ("none of these", "folders", ""),
        ("none of these", "lines", ""),
    ],
)
def test_letters_of_free_text_as_published(answer: str, layout: str, letter: str) -> None:
    assert chosen_letter(answer, layout, "paper") == letter  # type: ignore[arg-type]


@pytest.mark.parametrize(("answer", "letter"), [("B", "B"), (" (b). ", "B"), ("B C", ""), ("A simple", ""), ("K", "")])
def test_corrected_letters_stand_alone(answer: str, letter: str) -> None:
    assert chosen_letter(answer, "lines", "corrected") == letter


@pytest.mark.parametrize(
    ("text", "letter", "texts"),
    [
        ('{"options": ["A. x", "B. y"], "correct_answer": "B"}', "B", ("x", "y")),
        ('{"correct_answer": c, "options": ["x", "y", "z"],}', "C", ("x", "y", "z")),
        ("'correct_answer': 'A. x'", "A", ()),
    ],
)
def test_reference_answers(text: str, letter: str, texts: tuple[str, ...]) -> None:
    found = right_options(text)
    assert (found.letter, found.texts) == (letter, texts)


@pytest.mark.parametrize("text", ["", "{}", '{"correct_answer": "Z"}', '{"options": ["x"], "correct_answer": "B"}'])
def test_reference_answers_without_a_letter(text: str) -> None:
    with pytest.raises(ValueError, match="correct_answer|options"):
        right_options(text)


@pytest.mark.parametrize(
    ("stdout", "intents", "folders", "lines"),
    [
        ("True\n", 1, [True], [True]),
        ("True\nFalse\n", 2, [True, False], [False, False]),
        ("True", 2, [False, False], [True, True]),
        ("0.61\n0.6", 2, [True, False], [False, False]),
        ("-0.2", 1, [False], [False]),
        ("7e-1", 1, [False], [True]),
        ("", 1, [False], [False]),
        ("warning\nTrue", 1, [False], [False]),
    ],
)
def test_verdicts_as_published(stdout: str, intents: int, folders: list[bool], lines: list[bool]) -> None:
    assert paper_verdicts(stdout, intents, "folders") == folders
    assert paper_verdicts(stdout, intents, "lines") == lines


def test_each_intent_has_the_verdict_of_its_own_statement() -> None:
    expected = slots(statements([[4, "note\nTrue\n", ""], [7, "0.9\nTrue", ""]]), 3)
    assert expected == {4: 1, 7: 2}
    got = statements([[3, "", "KeyError: a"], [4, "", "NameError: b"], [7, "-0.3\nTrue\n", ""]])
    assert [right for right, _ in corrected_verdicts(got, expected)] == [False, False, True]
    assert "NameError" in corrected_verdicts(got, expected)[0][1]
    more = statements([[4, "True\nTrue\nTrue", ""]])
    assert not any(right for right, _ in corrected_verdicts(more, expected))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Statement(1, (False,)), "calls the reference's own results wrong"),
        (Statement(1, (), "KeyError: 'x'"), "KeyError"),
        (Statement(1, (True, True)), "2 verdicts"),
        (Statement(1, ()), "0 verdicts"),
    ],
)
def test_evaluation_code_that_judges_nobody_is_an_error(row: Statement, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        slots([row], 1)


@pytest.mark.parametrize(
    "code",
    [
        "from decision_company import mean_of, pick\nmean_of(pick(t, 'a', 1))",
        "from decision_company import mean_of as m, pick as p\nq = p\nm(q(t, 'a', 1))",
        "import decision_company as dc\ndc.mean_of(dc.pick(t, 'a', 1))",
        "from decision_company import *\nmean_of(x); pick(t, 'a', 1)",
    ],
)
def test_functions_that_are_called(code: str) -> None:
    assert called([code], FUNCTIONS) == {"mean_of", "pick"}
    assert recall(fixtures.PRIVATE_SOLUTION, [code], "", FUNCTIONS) == 1.0


def test_what_is_only_imported_counts_nowhere() -> None:
    code = "from decision_company import mean_of, pick\nt.mean()"
    assert recall(fixtures.PRIVATE_SOLUTION, [code], "", FUNCTIONS) == 0.0
    assert recall(fixtures.PRIVATE_SOLUTION, ["mean_of(pick(t))"], "", FUNCTIONS) == 0.0  # another pick
    head = "from decision_company import mean_of\nmean_of(t)"
    assert recall(fixtures.PRIVATE_SOLUTION, ["1"], head, FUNCTIONS) == 0.0
    assert recall("x = 1", ["x = 1"], "", FUNCTIONS) is None


HEAD = "from decision_company import read_csv_file, # please import\nt = read_csv_file('t.csv')\n"
USED = "from decision_company import mean_of\nmean_of(pick(t))"


@pytest.mark.parametrize(
    ("reference", "executed", "turn", "expected"),
    [
        ("from decision_company import read_csv_file, mean_of, pick\n", [USED], "turn_2", 2 / 3),
        ("from decision_company import read_csv_file, mean_of, pick\n", [HEAD + USED], "turn_2", 2 / 3),
        ("from decision_company import read_csv_file, mean_of, pick\n", [HEAD + USED], "turn_1", 1.0),
        ("from decision_company import read_csv_file, mean_of, pick\n", [HEAD + USED], "turn_12", 1.0),
        ("from decision_company import read_csv_file, mean_of, pick\n", [HEAD + USED], "turn_1_short_2", 2 / 3),
        ("from decision_company import read_csv_file, mean_of, pick\n", [HEAD + USED], "turn_1_short_1", 1.0),
        ("from decision_company import mean_of, pick,\nx", [USED], "turn_2", 2 / 3),
        ("from decision_company import mean_of\nfrom decision_company import pick", ["pick(t)"], "turn_2", 0.0),
        ("from decision_company import mean_of\n", ["a.mean_of(t)"], "turn_2", 0.0),
        ("from decision_company import read_csv_file, mean_of\n", ["mean_of(t)"], "turn_1", 1.0),
        ("from decision_company import read_csv_file\n", ["mean_of("], "turn_1", 0.0),
        ("from decision_company import mean_of\n", ["mean_of(", "mean_of(t)"], "turn_2", 1.0),
        ("mean_of(t)", ["mean_of(t)"], "turn_2", 0.0),
    ],
)
def test_recall_as_published(reference: str, executed: list[str], turn: str, expected: float) -> None:
    assert paper_recall(reference, executed, HEAD, turn) == pytest.approx(expected)


@pytest.mark.parametrize("fence", ["'''", "```python", "---BEGIN CODE TEMPLATE---"])
def test_templates_in_any_fence(fence: str) -> None:
    end = "---END CODE TEMPLATE---" if fence.startswith("-") else fence[:3]
    found = split_template(f"'''\nold\n'''\ntext\n{fence}\n{fixtures.template()}\n{end}\nPlease.\n'''\n")
    assert found is not None
    assert found.head.strip() == fixtures.READ.strip()
    assert found.tail.strip() == fixtures.SAVE.strip()


def test_a_template_with_two_gaps_and_none() -> None:
    text = (
        "a = 1\n# YOUR SOLUTION BEGIN:\n# YOUR SOLUTION END\nb = 2\n# YOUR SOLUTION BEGIN:\n# YOUR SOLUTION END\nc = 3"
    )
    found = split_template(text)
    assert found is not None and (found.head, found.tail) == ("a = 1", "c = 3")
    assert split_template("no template") is None
    assert split_template("# YOUR SOLUTION BEGIN:\nnever ends") is None


@given(st.text())
def test_any_text_can_be_taken_apart(text: str) -> None:
    split_template(text)
    messages_of(text)
    facts_of(text)
    for layout in ("folders", "lines"):
        assert len(chosen_letter(text, layout, "paper")) <= 1  # type: ignore[arg-type]


def test_the_head_does_not_read_the_table_again_after_a_history() -> None:
    open_import = (
        "from decision_company import read_csv_file, # please import more\nt = read_csv_file('atp_tennis.csv')"
    )
    template = Template("", f"import pickle\n{open_import}", "")
    assert scripts.head_cell(template, False).endswith("t = read_csv_file('atp_tennis.csv')")
    assert scripts.head_cell(template, True) == "import pickle\nfrom decision_company import read_csv_file"
    assert scripts.head_cell(Template("", "import (", ""), True) == ""


def test_paths_and_folders_in_code() -> None:
    code = (
        """pd.read_csv("/home/me/data/atp.csv"); plt.savefig('ref_result/a.png'); """
        """open("./pred_result/b c.pkl"); my_pred_result/2"""
    )
    assert scripts.local_paths(code, ["atp.csv"]).startswith('pd.read_csv("atp.csv")')
    assert scripts.into(code, "ref_result").count("ref_result/") == 2
    assert scripts.result_names(code) == ("a.png", "b c.pkl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    exec(scripts.PREPARE, {})
    yield tmp_path


def _run(code: str, **names: object) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<test>", "exec"), dict(names))
    return out.getvalue()


def test_the_tail_saves_what_is_there(folder: Path) -> None:
    template = split_template(fixtures.template())
    assert template is not None
    told = _run(scripts.finish_cell(template, ()), mean_height=180.5)
    assert "NameError" in told and "lefties" in told
    assert os.listdir("pred_result") == ["mean_height.pkl"]
    assert pickle.loads((folder / "pred_result/mean_height.pkl").read_bytes()) == 180.5


def test_the_tail_saves_in_any_way(folder: Path) -> None:
    tail = (
        "print(x)\nwith open('./ref_result/x.pkl', 'wb') as file:\n    pickle.dump(x, file)\nsave('pred_result/y.csv')"
    )
    saved: list[str] = []
    assert _run(scripts.finish_cell(Template("", "", tail), ()), x=1, save=saved.append) == ""
    assert (os.listdir("pred_result"), saved) == (["x.pkl"], ["pred_result/y.csv"])
    assert scripts.finish_cell(Template("", "", "x = 1\nprint(x)"), ()) == ""


def test_the_tail_saves_no_blank_figure(folder: Path) -> None:
    import matplotlib.pyplot as plt

    cell = scripts.finish_cell(Template("", "", fixtures.PLOT_SAVE), ())
    plt.close("all")
    _run(cell, plt=plt)
    assert os.listdir("pred_result") == []
    plt.subplots()
    _run(cell, plt=plt)
    plt.close("all")
    assert os.listdir("pred_result") == ["bars.png"]


def test_a_failed_statement_leaves_nothing_to_the_next(folder: Path) -> None:
    Path("eval.py").write_text("a = 1\na = boom()\nprint(a == 1)\nb = 2\nprint(b == 2)\n")
    _run(scripts.EVALUATE)
    rows = statements(json.loads(Path("verdicts.json").read_text()))
    assert [(row.index, row.verdicts, row.error[:9]) for row in rows] == [
        (1, (), "NameError"),
        (2, (), "NameError"),
        (4, (True,), ""),
    ]


def test_clean_pickles_are_of_data_and_models_alone(folder: Path) -> None:
    from sklearn.linear_model import LinearRegression

    from deskgym.task_suites.table_analysis.guest.results.encode import encode

    model = LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0])
    bomb = b"cposix\nsystem\n(S'touch owned'\ntR."
    cases = {
        "data.pkl": encode([1, 2], models=True),
        "model.pkl": encode(model, models=True),
        "bomb.pkl": msgpack.packb(["?", "LinearRegression", "", bomb]),
        "no_pickle.pkl": encode([model]),
    }
    for number, encoded in enumerate(cases.values()):
        Path(f"encoded_{number}").write_bytes(encoded)
    told = _run(scripts.clean_cell(list(cases)))
    assert sorted(os.listdir("pred_result")) == ["data.pkl", "model.pkl"]
    assert "no_pickle.pkl: not an encoded value: ValueError: a LinearRegression is not carried over" in told
    assert "bomb.pkl" in told and "posix.system is not carried over" in told
    assert not Path("owned").exists()
    assert pickle.loads(Path("pred_result/model.pkl").read_bytes()).predict([[3.0]])[0] == pytest.approx(3)


def test_facts_are_words_and_never_code() -> None:
    code = f"{fixtures.SOLUTION}\n# frame = pd.read_csv('x')\n# YOUR SOLUTION END\n"
    assert [fact.answer for fact in facts_of(code)] == [
        "Keep the players who play with the left hand.",
        "Average their heights.",
    ]
    assert "left" in facts_of(code)[0].about and facts_of("x = '") == ()


def test_our_scripts_are_python() -> None:
    for cell in (
        scripts.PREPARE,
        scripts.EMPTY,
        scripts.EVALUATE,
        scripts.list_cell("x"),
        scripts.unpickle_cell(["a'b.pkl"]),
    ):
        ast.parse(cell)
