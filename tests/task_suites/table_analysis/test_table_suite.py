"""The table analysis suite: ids, turns of every mode, histories, wrong codes, splits; lazy and picklable."""

import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from shop_domain import DOMAIN, DOMAINS, FOLDER

from deskgym.envs.errors import TaskError
from deskgym.task_suites.table_analysis import host_run
from deskgym.task_suites.table_analysis.dialogue_file import load_dialogues
from deskgym.task_suites.table_analysis.domains import domain
from deskgym.task_suites.table_analysis.sampling import places, sample_dialogue, sample_turn
from deskgym.task_suites.table_analysis.suite import KEPT, TableAnalysisSuite
from deskgym.task_suites.table_analysis.turns import Turn
from deskgym.task_suites.table_analysis.wrong_codes import ANOTHER_SEED, BLANK_PLOT, literal


@pytest.fixture
def suite() -> TableAnalysisSuite:
    return TableAnalysisSuite(FOLDER, domains=DOMAINS)


FILE = load_dialogues([FOLDER], DOMAINS)["shop/ada"]


def turn(task_id: str, seed: int = 0) -> Turn:
    return sample_turn(FILE, DOMAIN, task_id, places(FILE)[task_id], seed)


def test_ids_are_those_of_the_contract(suite):
    ids = suite.ids()
    assert ids == sorted(ids) and len(ids) == 18 == len(suite.templates)
    for task_id in ("normal/mean-price", "action/mean-price.update_code", "action/mean-price.clarification",
                    "action/dearest.insight_mining", "private/mean-price", "private-action/mean-price.update_code",
                    "private-action/by-colour.fast_fail"):  # fmt: skip
        assert f"shop/ada/{task_id}" in ids
    assert suite.ids("test") == ids and suite.splits == ["test", "train"]
    assert TableAnalysisSuite(FOLDER, domains=DOMAINS, episode="dialogue").ids() == [
        "shop/ada/normal", "shop/ada/private"
    ]  # fmt: skip
    assert suite.dialogue_ids() == ["shop/ada"]


def test_making_one_reads_nothing_and_it_is_picklable(suite, tmp_path):
    missing = TableAnalysisSuite(tmp_path / "nothing", domains=DOMAINS)
    with pytest.raises(TaskError, match="there is no folder or file"):
        missing.ids()
    suite.ids()
    copy = pickle.loads(pickle.dumps(suite))
    assert copy._files is None and copy.ids() == suite.ids()
    assert copy.dialogue_turns("shop/ada", 3)[0].query == suite.dialogue_turns("shop/ada", 3)[0].query


def test_bad_arguments_are_refused(suite):
    with pytest.raises(ValueError, match="episode='turns'; legal are 'turn' and 'dialogue'"):
        TableAnalysisSuite(FOLDER, episode="turns")
    with pytest.raises(ValueError, match="mode='strict'"):
        TableAnalysisSuite(FOLDER, mode="strict")
    with pytest.raises(TaskError, match="unknown task 'shop/ada/normal/mean-prize'; did you mean 'shop/ada/normal/mea"):
        suite.get("shop/ada/normal/mean-prize")
    for task_id, seed in [("shop/ada/normal/many-units#x", None), ("shop/ada/normal/many-units", 2**31)]:
        with pytest.raises(TaskError, match="seed"):
            suite.get(task_id, seed)
    rng = np.random.default_rng(0)
    with pytest.raises(TaskError, match="unknown split 'dev'"):
        suite.draw(rng, None, "dev")
    with pytest.raises(TaskError, match="unknown task 'shop/ada/normal/x"):
        suite.draw(rng, "shop/ada/normal/x*")
    with pytest.raises(TaskError, match="unknown dialogue 'shop/bob'"):
        suite.dialogue_turns("shop/bob")


def test_a_turn_has_its_parameters_everywhere():
    one = turn("shop/ada/normal/mean-price", 5)
    town = one.params["town"]
    assert one.id == "shop/ada/normal/mean-price#5" and (one.mode, one.action, one.seed) == ("normal", "", 5)
    assert town in one.query and f'"{town}"' in one.code and one.persona.endswith(town) and one.title.endswith(town)
    assert [(intent.name, intent.kind) for intent in one.intents] == [("mean_price", "value"), ("count", "value")]
    assert one.history == () and one.library_seed is None and one.facts == () and one.choice is None
    rule = turn("shop/ada/normal/price-rule", 5)
    assert rule.intents[0].probes.startswith(f"[(10.0, 1), (10.0, {rule.params['units']}), (20.0, 9), (rng.")


def test_the_same_seed_is_the_same_turn_and_others_differ():
    for task_id in places(FILE):
        one, same = turn(task_id, 9), turn(task_id, 9)
        assert (one.query, one.code, one.history, one.choice, one.variant) == (
            same.query, same.code, same.history, same.choice, same.variant
        )  # fmt: skip
        assert dict(one.wrong) == dict(same.wrong)
    turns = [turn("shop/ada/normal/mean-price", seed) for seed in range(60)]
    assert {t.variant for t in turns} == set(range(8))
    assert {(t.params["town"], t.params["units"]) for t in turns} > {("Bath", 2), ("Cork", 7)}


def test_action_twins():
    update = turn("shop/ada/action/mean-price.update_code", 2)
    town = update.params["town"]
    assert update.query == f"I meant {town} only." and (update.mode, update.action) == ("action", "update_code")
    (past,) = update.history
    assert past.query == turn("shop/ada/normal/mean-price", 2).query and past.answer == ""
    assert past.code == update.wrong["all towns"] and past.runs and update.code != past.code
    vague = turn("shop/ada/action/mean-price.clarification", 2)
    assert vague.query == f"What do things cost in {town}?" and vague.facts[0].about == ("mean", "median", "average")
    assert vague.history == () and vague.code == update.code
    private = turn("shop/ada/private-action/mean-price.update_code", 2)
    assert (private.code, private.history, private.query) == (update.code, update.history, update.query)
    assert private.library_seed == turn("shop/ada/private/many-units", 2).library_seed
    assert private.library_seed != turn("shop/ada/private/many-units", 3).library_seed


def test_history_is_the_turns_before_with_their_answers():
    last = turn("shop/ada/normal/price-rule", 4)
    kinds = [(bool(past.code), bool(past.answer), past.plot, past.runs) for past in last.history]
    assert kinds == [
        (True, False, False, True),  # mean-price
        (True, False, True, False),  # price-plot: nothing needs its variables
        (True, False, False, True),  # many-units
        (True, True, False, True),  # dearest
        (False, True, False, True),  # by-colour
        (True, False, True, False),  # the figure of second-bar
        (False, True, False, True),  # second-bar
    ]
    dearest = sample_dialogue(FILE, DOMAIN, 4)[3]
    assert last.history[3].answer == dearest.choice.options[dearest.choice.right]


def test_plot_qa_ends_with_its_figure_which_runs():
    one = turn("shop/ada/action/second-bar.plot_qa", 1)
    assert one.history[-1].plot and one.history[-1].runs and "picture" in one.history[-1].code
    assert "second highest bar" in one.history[-1].query
    assert [past.runs for past in one.history if past.plot] == [False, True]


def test_a_plot_runs_where_later_code_needs_what_it_leaves(tmp_path):
    text = (FOLDER / "shop-ada.yaml").read_text()
    needing = text.replace(
        "          return price * 0.9 if", "          by_town.max()\n          return price * 0.9 if"
    )
    (tmp_path / "a.yaml").write_text(needing)
    file = load_dialogues([tmp_path], DOMAINS)["shop/ada"]
    task_id = "shop/ada/normal/price-rule"
    one = sample_turn(file, DOMAIN, task_id, places(file)[task_id], 0)
    assert [past.runs for past in one.history if past.plot] == [True, False]


def results(one: Turn, code: str) -> dict:
    codes = [past.code for past in one.history if past.runs]
    return host_run.run(DOMAIN, one.variant, [*codes, code], one.id)


def test_wrong_codes_are_wrong_and_those_made_for_it_too():
    many = turn("shop/ada/normal/many-units", 3)
    assert list(many.wrong) == ["more than", "fewer", ANOTHER_SEED]
    gold = results(many, many.code)["many"]
    for code in many.wrong.values():
        assert results(many, code)["many"] != gold
    assert set(results(many, many.wrong[ANOTHER_SEED])["many"]) == set(gold)
    means = turn("shop/ada/normal/mean-price", 3)
    got, right = results(means, means.wrong[ANOTHER_SEED]), results(means, means.code)
    assert got["mean_price"] != right["mean_price"] and got["count"] != right["count"]
    plot = turn("shop/ada/normal/price-plot", 3)
    assert list(plot.wrong) == ["sums", "pie", BLANK_PLOT]
    assert results(plot, plot.wrong[BLANK_PLOT])["figure"].axes == []
    assert dict(turn("shop/ada/action/dearest.insight_mining", 3).wrong) == {}
    assert dict(pickle.loads(pickle.dumps(many)).wrong) == dict(many.wrong)


def test_literals_are_the_values_again():
    import pandas as pd

    value = {
        "a": [np.int64(3), np.float64(0.1), None, True],
        ("b", 1): (pd.Timestamp("2024-05-01"),),
        "c": set(),
        4: (),
    }
    assert eval(literal(value), {"pd": pd}) == value
    assert np.isnan(eval(literal(float("nan"))))
    with pytest.raises(ValueError, match="a DataFrame is no plain data"):
        literal([pd.DataFrame()])


def test_a_dialogue_is_its_main_line_with_one_draw(suite):
    turns = suite.dialogue_turns("shop/ada", 6)
    assert [t.id.split("/", 2)[2] for t in turns] == [
        "normal/mean-price#6", "normal/price-plot#6", "normal/many-units#6", "action/dearest.insight_mining#6",
        "action/by-colour.fast_fail#6", "action/second-bar.plot_qa#6", "normal/price-rule#6",
    ]  # fmt: skip
    assert len({(t.variant, t.params["town"], t.split) for t in turns}) == 1
    private = suite.dialogue_turns("shop/ada", 6, private=True)
    assert [t.mode for t in private] == [{"normal": "private", "action": "private-action"}[t.mode] for t in turns]
    assert len({t.library_seed for t in private}) == 1
    with pytest.raises(TaskError, match="a seed is 0 to"):
        suite.dialogue_turns("shop/ada", -1)


def test_splits_differ_in_parameters():
    turns = [turn("shop/ada/normal/mean-price", seed) for seed in range(300)]
    found: dict[str, set] = {"train": set(), "test": set()}
    for one in turns:
        found[one.split].add(tuple(sorted(one.params.items())))
    assert found["train"] and found["test"] and not found["train"] & found["test"]
    assert 0.1 < sum(one.split == "test" for one in turns) / 300 < 0.35


def test_reference_code_leaves_tables_and_terminal_alone(capsys):
    code = "print('loud')\nsales['price'] = 0\nsales.index.name = 'x'\nsales.loc[0, 'town'] = 'Rome'"
    before = host_run.tables(DOMAIN, 0)["sales"].copy()
    names = host_run.run(DOMAIN, 0, [code], "it")
    assert names["sales"]["price"].sum() == 0 and "holdout_sales" not in names
    after = host_run.tables(DOMAIN, 0)["sales"]
    assert after.equals(before) and after.index.name is None and capsys.readouterr().out == ""


def test_drawing_leaves_pyplot_as_it_was():
    import matplotlib
    import matplotlib.pyplot as plt

    backend, figures = matplotlib.get_backend(), plt.get_fignums()
    names = host_run.run(DOMAIN, 0, ["figure, axes = plt.subplots()\naxes.plot([1, 2])"], "it")
    assert len(names["figure"].axes) == 1
    assert (matplotlib.get_backend(), plt.get_fignums()) == (backend, figures)


def test_drawing_is_fast_enough_for_a_reset():
    for task_id, limit in [("shop/ada/normal/many-units", 0.015), ("shop/ada/action/second-bar.plot_qa", 0.040)]:
        place, spent = places(FILE)[task_id], []
        for seed in range(24):
            started = time.process_time()
            sample_turn(FILE, DOMAIN, task_id, place, seed)
            spent.append(time.process_time() - started)
        assert sorted(spent)[12] < limit


def test_importing_the_package_loads_no_tables():
    code = "import sys, deskgym; sys.exit(any(name in sys.modules for name in ('pandas', 'matplotlib', 'sklearn')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_tasks_are_kept_and_drawn_by_pattern_and_split(suite):
    task = suite.get("shop/ada/normal/many-units#5")
    assert suite.get("shop/ada/normal/many-units", 5) is task
    rng = np.random.default_rng(0)
    for _ in range(20):
        drawn = suite.draw(rng, "shop/ada/normal/*", "test")
        assert drawn.split == "test" and drawn.id.startswith("shop/ada/normal/")
    other = {"train": "test", "test": "train"}[task.split]
    with pytest.raises(TaskError, match=f"is in the split '{task.split}', not in '{other}'"):
        suite.draw(rng, "shop/ada/normal/many-units#5", other)
    for seed in range(100, 100 + KEPT):
        suite.get("shop/ada/normal/many-units", seed)
    assert suite.get("shop/ada/normal/many-units#5") is not task


def test_a_missing_library_is_said_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "deskgym.task_suites.table_analysis.domains.clinic", raising=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TaskError, match="table analysis needs pandas: run `deskgym install table_analysis`"):
        domain.__wrapped__("clinic")
