"""The tables and targets of the comparison with a conventional loop, of made-up numbers."""

import pytest

from deskgym.benchmarks.conventional import LEAN, VARIANTS
from deskgym.benchmarks.report import LOOP_COLUMNS, loop_cells, table
from deskgym.benchmarks.rows import Row, Rows, number
from deskgym.benchmarks.targets import Target, loop_targets


def made_up_rows() -> Rows:
    """Ours take 20 ms, the conventional steps 600 ms."""
    rows = Rows()
    for view in ("screenshot", "screenshot + a11y"):
        rows.add(f"mousepad/step/{view}", "ours", 20.0)
    for variant in (*VARIANTS, LEAN):
        rows.add(f"mousepad/conventional/{variant.name}", "theirs", 600.0)
    return rows


def test_row_gives_median_and_spread() -> None:
    data = Row("a", "A", samples=[float(number) for number in range(1, 12)]).to_dict()
    assert (data["n"], data["median"], data["p10"], data["p90"], data["max"]) == (11, 6.0, 2.0, 10.0, 11.0)


@pytest.mark.parametrize(("value", "text"), [(2451.3, "2451"), (47.0, "47"), (0.6854, "0.685")])
def test_numbers_have_no_exponent(value: float, text: str) -> None:
    assert number(value) == text


def test_verdict_says_by_how_much() -> None:
    assert Target("a", 40, 50, "ms").verdict == "MISS by 25%"
    assert Target("a", 40, 30, "ms").verdict == "PASS by 25%"
    assert Target("a", 25, 30, "×", at_least=True).verdict == "PASS by 20%"
    assert Target("a", 100, 100, "", at_least=True).verdict == "PASS"
    assert Target("a", 40, 40.244, "ms").verdict == "MISS by 0.6%"
    assert Target("a", 25, 20, "×", at_least=True).verdict == "MISS by 20%"


def test_targets_of_what_was_measured() -> None:
    targets = {target.what: target for target in loop_targets(made_up_rows(), ["mousepad"])}
    assert targets["conventional ÷ ours, screenshot + a11y, no sleep"].got == 30.0
    assert targets["conventional ÷ ours, screenshot, 0.5 s sleep"].verdict == "MISS by 25%"


def test_table_of_made_up_numbers() -> None:
    cells = loop_cells([row.to_dict() for row in made_up_rows()], ["mousepad"])
    assert "| Mousepad, screenshot | 20 ms (20–20) | 600 ms (600–600), **30.0×** |" in table(LOOP_COLUMNS, cells)
