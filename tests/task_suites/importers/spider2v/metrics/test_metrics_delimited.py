"""``compare_csv``."""

import csv
import io

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from metric_scores import scores

from deskgym.task_suites.importers.spider2v.metrics import GoldBroken

GOLD = b"city,code,share\nMadrid,007,1.50\nRome,012,2\n"
FREE, SORTED = "Save the cities.", "Save the cities sorted by code."


@pytest.mark.parametrize(
    ("result", "instruction", "right"),
    [
        (GOLD, FREE, (1, 1)),
        (b'"city","code","share"\r\nMadrid,007,1.5\r\nRome,012,2.0', FREE, (0, 1)),
        (b"\xef\xbb\xbf" + GOLD, FREE, (0, 1)),
        (b"city,code,share\nRome,012,2\nMadrid,007,1.50\n", FREE, (0, 1)),
        (b"city,code,share\nRome,012,2\nMadrid,007,1.50\n", SORTED, (0, 0)),
        (b"city,code,share\nRome,012,2\nMadrid,007,1.50\n", "", (0, 0)),
        (b"city,code,share\nRome,012,2\nMadrid,007,1.50\n", "See the requirements in the file.", (0, 0)),
        (b"Rome,012,2\nMadrid,007,1.50\ncity,code,share\n", FREE, (0, 0)),
        (b"city,code,share\nMadrid,7,1.50\nRome,012,2\n", FREE, (0, 0)),
        (b"city,code,share\nMadrid,007,1.51\nRome,012,2\n", FREE, (0, 0)),
        (b"city,code,share\nMadrid,007,1.50\n", FREE, (0, 0)),
        (GOLD + b"Rome,012,2\n", FREE, (0, 0)),
        (b"", FREE, (0, 0)),
        (b'"open', FREE, (0, 0)),
        (b"\xff\xfe\x00", FREE, (0, 0)),
    ],
)
def test_lines(result, instruction, right) -> None:
    assert scores("compare_csv", result, GOLD, instruction) == right


def test_options() -> None:
    assert scores("compare_csv", b" a,B \nc,d", b"a,b\nc,d", strict=False, ignore_case=True) == (1, 1)
    assert scores("compare_csv", b"c,1\na,b", b"a,b\nc,1", ignore_order=True) == (1, 0), "the header comes first"
    with pytest.raises(GoldBroken):
        scores("compare_csv", b"x", None)


@hypothesis_given(st.binary(max_size=300))
def test_no_bytes_raise_and_each_file_equals_itself(data) -> None:
    assert scores("compare_csv", data, GOLD, FREE)[0] == (data == GOLD)
    try:
        paper, corrected = scores("compare_csv", data, data.decode("latin-1").encode(), FREE)
    except GoldBroken:  # such as a single quotation mark: as a task's own file that is the task's fault
        with pytest.raises(csv.Error):
            list(csv.reader(io.StringIO(data.decode("latin-1"), newline=""), strict=True))
        return
    assert {paper, corrected} <= {0, 1}


@hypothesis_given(st.lists(st.lists(st.text('ab 1.0,"\n', max_size=4), min_size=2, max_size=2), min_size=1))
def test_a_written_table_equals_itself_in_any_order(rows) -> None:
    def written(of) -> bytes:
        text = io.StringIO()
        csv.writer(text).writerows(of)
        return text.getvalue().encode()

    head = [["h", "i"]]
    assert scores("compare_csv", written(head + rows[::-1]), written(head + rows), FREE)[1] == 1
    assert scores("compare_csv", written(head + rows + [["new", "new"]]), written(head + rows), FREE)[1] == 0
