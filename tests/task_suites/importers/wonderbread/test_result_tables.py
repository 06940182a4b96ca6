"""The paper's tables from the published results: numbers that the paper prints, and copies with mistakes."""

import json
import shutil
from pathlib import Path

import pytest

from deskgym.cli import main
from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.metrics import rank_correlations
from deskgym.task_suites.bpm.procedure_text import published_steps_of
from deskgym.task_suites.importers.wonderbread.result_files import read_results
from deskgym.task_suites.importers.wonderbread.result_tables import result_tables

VALIDATION = r"""
\begin{tabular}{llllllllr}
\toprule
model & is_td & is_kf & is_act & is_include_sop & Precision & Recall & F1 & Count \\
\midrule
GPT4 & \checkmark & \checkmark &  & \checkmark & 0.89 & 0.90 & 0.90 & 560 \\
GeminiPro & \checkmark & \checkmark &  &  & 1.00 & 0.25 & 0.40 & 560 \\
\bottomrule
\end{tabular}
"""
RANKING = "ablation--model,demo_name,sop,gt_ranking,pred_ranking\n"


@pytest.fixture(scope="module")
def upstream():
    """The given upstream files, which lie beside the checkout and not in it."""
    folder = Path(__file__).parents[4] / "../shared/upstream/wonderbread"
    if not folder.is_dir():
        pytest.skip("WONDERBREAD's own files are not at ../shared/upstream/wonderbread")
    return folder


@pytest.fixture
def copy(tmp_path):
    """A copy with one file of results, by its name and text."""

    def make(name, text):
        path = tmp_path / "data" / "experimental_results" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return str(tmp_path)

    return make


def test_the_judge_agrees_with_people_as_the_paper_says(upstream):
    table = next(table for table in result_tables(str(upstream)) if "Table 9" in table.title)
    precision, recall = table.rows
    assert [f"{value:.2f}" for value in (precision[1], precision[3], recall[1], recall[3])] == [
        "0.84",
        "0.85",
        "0.88",
        "0.82",
    ]
    assert [f"{value:.1e}" for value in (precision[2], precision[4])] == ["4.6e-09", "2.8e-09"]


def test_every_published_number_of_lines_is_found_again(upstream):
    rows = read_results(upstream, "sop_generation/sop_generation_eval.csv", ("pred_sop", "n_lines_pred_sop"))
    assert len(rows) > 900
    assert all(len(published_steps_of(row.text("pred_sop"))) == row.whole("n_lines_pred_sop") for row in rows)


def test_every_published_correlation_is_found_again(upstream):
    rows = read_results(upstream, "sop_ranking_all_results.csv", ("spearman_corr", "kendall_corr"))
    groups = {}
    for row in rows:
        groups.setdefault((row.text("ablation--model"), row.text("demo_name")), []).append(row)
    assert len(groups) > 200
    for group in groups.values():
        order = [row.whole("pred_ranking") - 1 for row in group]
        found = rank_correlations(order, [row.whole("gt_ranking") for row in group], paper=True)
        assert found == pytest.approx((group[0].number("spearman_corr"), group[0].number("kendall_corr")))


def test_answers_are_told_with_the_best_at_three(upstream):
    table = next(table for table in result_tables(str(upstream)) if "Table 7" in table.title)
    people = dict(zip(table.columns, next(row for row in table.rows if row[0] == "Human"), strict=True))
    assert people["completeness"] == people["soundness"] == 3.0  # they were compared with themselves


def test_the_longest_procedure_first_beats_every_model(upstream):
    table = next(table for table in result_tables(str(upstream)) if "Figure 7a" in table.title)
    by = {row[:2]: row[2] for row in table.rows}
    assert by["the longest first", "corrected"] > max(rho for (name, _), rho in by.items() if "longest" not in name)


def test_validation_has_its_precision_and_recall_back(copy):
    [table] = result_tables(copy("demo_validation/df_task_completion.tex", VALIDATION))
    good, constant = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (round(good["P"], 2), round(good["R"], 2), round(good["F1"], 2)) == (0.90, 0.89, 0.90)
    assert good["input"] == "intent + key frames + SOP" and constant["input"] == "intent + key frames"
    assert (constant["R"], constant["balanced accuracy"], constant["MCC"]) == (1, 0.5, 0)


def test_f1_counts_procedures_of_which_nothing_is_right(copy):
    names = "ablation--is_pairwise,ablation--model,ablation--is_td,ablation--is_kf,ablation--is_act"
    text = f"{names},precision,recall,ordering,n_lines_pred_sop\n"
    text += (
        "False,GPT4,True,False,False,1,1,1,4\nFalse,GPT4,True,False,False,0,0,0,2\nTrue,GPT4,True,False,False,1,1,1,9\n"
    )
    [table] = result_tables(copy("sop_generation/sop_generation_eval.csv", text))
    [row] = table.rows
    assert row == ("GPT4", "intent", 0.5, 0.5, 1.0, 0.5, 0.5, 3.0, 2)


def test_only_what_has_neither_precision_nor_recall_is_left_out_as_in_the_paper(copy):
    names = "ablation--is_pairwise,ablation--model,ablation--is_td,ablation--is_kf,ablation--is_act"
    text = f"{names},precision,recall,ordering,n_lines_pred_sop\nFalse,A,True,False,False,1,1,1,4\n"
    text += "False,A,True,False,False,0.5,0,0,2\n"
    [table] = result_tables(copy("sop_generation/sop_generation_eval.csv", text))
    assert table.rows[0][4:6] == (0.5, 0.5)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sop_ranking_all_results.csv", "demo_name\nx\n", "has no column ablation--model, sop, .*; it has demo_name"),
        ("sop_ranking_all_results.csv", "", "it has none"),
        (
            "sop_ranking_all_results.csv",
            RANKING + "GPT4,a,x,1,first\n",
            ":2: pred_ranking is 'first'; legal is a whole",
        ),
        (
            "sop_ranking_all_results.csv",
            RANKING + "GPT4,a,x,1,1\nGPT4,a,y,2,1\n",
            r"is \[1, 1\]; legal is each of 1 to 2",
        ),
        ("sop_ranking_all_results.csv", RANKING + "GPT4,a,x,1\n", ":2 has more or fewer cells than the header"),
        ("sop_ranking_all_results.csv", RANKING + 'GPT4,a,"x,1,1\n', "cannot be read as CSV: unexpected end of data"),
        (
            "sop_ranking_all_results.csv",
            RANKING + "GPT4,a,x,1,1\n",
            r"is \[1\]; legal is each of 1 to 2 once",
        ),
        ("sop_ranking_all_results.csv", RANKING + f"GPT4,a,{'x' * 2_000_000},1,1\n", "field larger than field limit"),
        ("other.csv", "a\n1\n", "has none of the published results"),
        (
            "demo_validation/df_task_completion.tex",
            VALIDATION.replace("0.89", "--"),
            "df_task_completion.tex: could not convert string to float: '--'; legal are numbers",
        ),
    ],
)
def test_a_file_with_a_mistake_is_one_clear_error(copy, name, text, message):
    with pytest.raises(TaskError, match=message):
        result_tables(copy(name, text))


def test_a_folder_that_is_no_copy(tmp_path, capsys):
    assert main(["wonderbread", str(tmp_path)]) == 1
    assert "has no folder data/experimental_results; give the folder of WONDERBREAD's repo" in capsys.readouterr().err


def test_the_command_prints_all_digits_as_json(upstream, capsys):
    assert main(["wonderbread", str(upstream), "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert len(tables) == 4 and abs(tables[1]["rows"][0][1] - 0.8440290617) < 1e-9
    assert main(["wonderbread", str(upstream)]) == 0
    assert "4.63e-09" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_names_itself(upstream, tmp_path):
    shutil.copytree(upstream, tmp_path / "copy")
    path = tmp_path / "copy/data/experimental_results/question_answering_all_results.csv"
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n")
    with pytest.raises(TaskError, match=r"question_answering_all_results.csv cannot be read as CSV: 'utf-8' codec"):
        result_tables(str(tmp_path / "copy"))
