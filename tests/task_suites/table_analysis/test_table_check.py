"""The authors' check: it passes what is well, and names what is not."""

from pathlib import Path

import pytest
from shop_domain import DOMAINS, FOLDER

from deskgym.task_suites.table_analysis.check import main

TEXT = (FOLDER / "shop-ada.yaml").read_text()


def check(folder: Path, text: str, capsys, seeds: int = 3) -> tuple[int, str]:
    (folder / "shop-ada.yaml").write_text(text)
    status = main([str(folder), "--seeds", str(seeds)], DOMAINS)
    return status, capsys.readouterr().out


def test_a_file_that_is_well(tmp_path, capsys):
    status, out = check(tmp_path, TEXT, capsys)
    assert status == 0, out
    assert "0 problems with 3 seeds" in out
    assert "18 templates in 7 turns of 1 dialogues" in out
    assert "shop/ada second-bar" in out
    assert "update_code     value" in out and "fast_fail       unanswerable" in out


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('local = sales.copy()', 'local = sales[sales["town"] == "{town}"]',
         "mean-price seed 0: the wrong code 'all towns' gives the right 'mean_price'"),
        ('> {units}].groupby', '> {units} - 1].groupby', "many-units seed 0: the wrong code 'more than' gives"),
        ('.size().to_dict()\n    wrong', '.size()\n    wrong', "'many' is declared a dict, and is a Series"),
        ('< {units}].groupby("town")', '< {units}].groupby("city")', "the wrong code 'fewer': KeyError: 'city'"),
        ('local = sales.copy()', 'local = sales.copy()\n        sales = sales[:9]',
         "the reference, run after update.from, gives another 'mean_price'"),
        ('count = len(local)\n    wrong', 'count = len(local) + np.random.rand()\n    wrong',
         "the reference, run again, gives another 'count'"),
        ('count = len(local)\n    wrong', 'count = len(local)\n      held = sales[sales["units"] >= {units}].groupby('
         '"town").size().to_dict()\n    wrong', "'held' of the history is the right 'many' already"),
        ('answerable = "{asked}" in sales.columns', 'answerable = True', "answerable for 40 of 40 seeds; legal are 12"),
        ('right = mean if answerable', 'right = mean if True', "of which 1 are reasons"),
        ('right = order[1]', 'right = "Zell"', "second-bar: 'Zell' is right for all seeds"),
        ('right = order[1]\n      wrong = {"first": order[0], "third": order[2], "fourth": order[3]}',
         'right = "Bath"\n      wrong = {"first": "Cork", "third": "Cork", "fourth": "Deal"}',
         "second-bar: only 0 of 40 seeds have 4 options that differ"),
        ('discounted: "[(10.0, 1)', 'discounted: "holdout_sale[(10.0, 1)', "name 'holdout_sale' is not defined"),
        (", (rng.uniform(1, 90), {units} - 1), (rng.uniform(1, 90), {units})]", "]", "draw more with 'rng'"),
    ],
)  # fmt: skip
def test_what_is_not_well_is_named(tmp_path, capsys, old: str, new: str, problem: str):
    assert old in TEXT
    status, out = check(tmp_path, TEXT.replace(old, new, 1), capsys, seeds=1)
    assert status == 1 and problem in out, out


def test_results_that_never_differ_are_named(tmp_path, capsys):
    text = TEXT.replace(
        'many = sales[sales["units"] >= {units}].groupby("town").size().to_dict()', "many = {'a': 1}", 1
    )
    status, out = check(tmp_path, text, capsys)
    assert status == 1 and "many-units: all of 3 seeds have the same result" in out


def test_mistakes_in_the_file_are_told_with_their_lines(tmp_path, capsys):
    status, out = check(tmp_path, TEXT.replace("{many: dict}", "{many: dct}"), capsys)
    assert status == 1 and "unknown result type 'dct'" in out and ".yaml:" in out
