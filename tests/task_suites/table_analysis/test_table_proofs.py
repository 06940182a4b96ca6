"""What the proof of a turn depends on, and the mutants of its reference."""

import pytest
from shop_domain import DOMAINS, FOLDER

from deskgym.task_suites import load_suite
from deskgym.task_suites.table_analysis.prepared import PreparedTurn
from deskgym.task_suites.table_analysis.suite import TableAnalysisSuite


@pytest.fixture
def shop(tmp_path):
    """A copy of the shop's dialogue that a test may change, and a suite of it."""
    path = tmp_path / "ada.yaml"
    path.write_text((FOLDER / "shop-ada.yaml").read_text())
    return path, lambda: TableAnalysisSuite(tmp_path, domains=DOMAINS)


def test_a_turn_depends_on_the_turns_before_it_and_on_none_after(shop):
    path, suite = shop
    ids = [f"shop/ada/normal/{name}" for name in ("mean-price", "price-plot", "many-units")]
    before = [suite().proof_inputs(name).file for name in ids]
    text = path.read_text()
    path.write_text(text.replace("Draw the mean price by town.", "Draw the mean price of each town."))
    after = [suite().proof_inputs(name).file for name in ids]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, False]
    path.write_text(text.replace("title: Prices in", "title: The prices in"))
    assert [suite().proof_inputs(name).file for name in ids] == before


PACKAGE = "deskgym.task_suites.table_analysis"


def modules(suite, name):
    return {key.partition(":")[0] for key in suite.proof_inputs(name).reached if not key.startswith("data:")}


def test_what_draws_and_prepares_a_turn_counts_by_its_result(monkeypatch):
    suite = load_suite("table_analysis")
    task = "wines/giulia/private/candidates"
    inputs = suite.proof_inputs(task)
    assert {f"{PACKAGE}.judging", f"{PACKAGE}.guest.results.taking", f"{PACKAGE}.guest.comparators.comparing"} <= {
        key.partition(":")[0] for key in inputs.reached
    }
    drawing = (f"{PACKAGE}.{name}" for name in ("private", "domains", "sampling", "prepared"))
    assert not [key for key in inputs.reached if key.startswith(tuple(drawing))]
    assert inputs.drawing == suite.proof_inputs("wines/giulia/normal/candidates").drawing
    assert inputs.drawn == load_suite("table_analysis").proof_inputs(task).drawn
    monkeypatch.setattr(PreparedTurn, "preload", ("sklearn",))
    assert inputs.drawn != load_suite("table_analysis").proof_inputs(task).drawn


def test_what_compares_figures_counts_for_turns_with_a_figure_alone():
    suite = load_suite("table_analysis")
    figures = f"{PACKAGE}.guest.comparators.figures"
    counted = {task: figures in modules(suite, task) for task in suite.ids() if "/normal/" in task}
    with_plot = {
        task: "plot" in file.turns[place.turn].result.values()
        for task, (file, place) in suite.templates.items()
        if task in counted
    }
    assert counted == with_plot and 0 < sum(counted.values()) < len(counted)


def texts(suite, name):
    task = suite.get(name, 0)
    return {mutant: list(script(None)) for mutant, script in suite.mutants(task).items()}, task


def test_mutants_of_code_drop_a_statement_or_take_another_seeds_parameter(shop):
    _, suite = shop
    mutants, task = texts(suite(), "shop/ada/normal/mean-price")
    code = task.prepared[0].code
    assert list(mutants) == ["drop last", "other town"]
    assert "count = len(local)" in code and "count" not in mutants["drop last"][0]
    assert mutants["other town"] != [code, "DONE"] and mutants["other town"][1] == "DONE"
    mutants, _ = texts(suite(), "shop/ada/normal/many-units")
    assert list(mutants) == ["other units"]  # without its only statement it is what doing nothing is


def test_labels_of_a_figure_are_no_mutants(shop):
    path, suite = shop
    path.write_text(
        path.read_text().replace(
            "axes.bar(by_town.index, by_town.values)\n",
            'axes.bar(by_town.index, by_town.values)\n      axes.set_xlabel("Town")\n',
            1,
        )
    )
    mutants, task = texts(suite(), "shop/ada/normal/price-plot")
    assert "set_xlabel" in task.prepared[0].code
    assert "axes.bar" not in mutants["drop last"][0]


def test_mutants_of_a_choice_are_the_other_letters(shop):
    _, suite = shop
    mutants, task = texts(suite(), "shop/ada/action/dearest.insight_mining")
    right = task.turns[0].choice.letter
    assert sorted(mutants) == [f"answer {letter}" for letter in "ABCD" if letter != right]
    assert all(said == [f"ANS {name[-1]}"] for name, said in mutants.items())
