"""Checks of files: right, wrong, and what a hostile guest may put there."""

import hashlib
import json

import pytest

from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.evaluation.calls import HostFile
from deskgym.envs.evaluation.checks import file as files
from deskgym.envs.evaluation.evaluator import Check, CheckFailed
from deskgym.envs.evaluation.predicates import Predicate

PATH = "/home/user/f"
ANY = Predicate.parse({"length": {"between": [0, 10**9]}})


def test_exists_and_absent(state) -> None:
    assert files.exists(state(f=b""), PATH)[0]
    assert files.absent(state(), PATH)[0]
    assert not files.absent(state(f=b"x"), PATH)[0]
    with pytest.raises(CheckFailed, match="no such file"):
        files.exists(state(), PATH)


@pytest.mark.parametrize("kind", ["NotARegularFile", "FileTooLarge", "PermissionError"])
def test_traps_fail_every_check_and_are_not_absent(state, kind: str) -> None:
    trap = GuestCallError(f"{PATH}: a FIFO", kind=kind)
    assert not files.absent(state(f=trap), PATH)[0]
    for check in (
        lambda final: files.exists(final, PATH),
        lambda final: files.text(final, PATH, ANY),
        lambda final: files.json_(final, PATH, ANY),
        lambda final: files.csv_(final, PATH, [["a"]]),
        lambda final: files.sha256(final, PATH, "0" * 64),
    ):
        assert Check("x", check)(state(f=trap)).outcome == "fail"


def test_a_lost_machine_is_an_error_and_is_asked_once(state) -> None:
    final = state(f=GuestLost("gone"))
    results = [Check("x", lambda final: files.exists(final, PATH))(final) for _ in range(3)]
    assert {result.outcome for result in results} == {"error"}
    assert "guest_lost" in results[0].message
    assert final.machine.reads == [PATH]


def test_the_limit_counts_before_reading(state) -> None:
    with pytest.raises(CheckFailed, match="larger than 3 bytes"):
        files.text(state(f=b"1234"), PATH, ANY, limit=3)


def test_text(state) -> None:
    that = Predicate.parse({"equals": "é\n"})
    assert files.text(state(f="\ufeffé\n".encode()), PATH, that)[0]
    assert not files.text(state(f=b"e"), PATH, that)[0]
    with pytest.raises(CheckFailed, match="not utf-8"):
        files.text(state(f=b"\xff\xfe"), PATH, that)


def test_json(state) -> None:
    final = state(f=json.dumps({"rows": [{"a.b": 1}]}).encode())
    one = Predicate.parse({"equals": 1})
    assert files.json_(final, PATH, one, at=["rows", 0, "a.b"])[0]
    assert not files.json_(final, PATH, Predicate.parse({"equals": 2}), at=["rows", 0, "a.b"])[0]
    for at, message in {
        "row.0": "did you mean 'rows'",
        "rows.1": "no item '1' in a list of 1",
        "rows.0.a.b": "unknown key 'a'",
    }.items():
        with pytest.raises(CheckFailed, match=message):
            files.json_(final, PATH, one, at=at)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"NaN", b"[1,]", b"[" * 100_000, b"9" * 10_000, b"\x00", b'{"a": Infinity}']
)
def test_what_is_not_json_fails(state, raw: bytes) -> None:
    with pytest.raises(CheckFailed, match="not JSON"):
        files.json_(state(f=raw), PATH, ANY)


CSV = b"name,v\na, 1.50 \nb,2\n\n"
ROWS = [["name", "v"], ["a", 1.5], ["b", 2]]


def test_csv(state, tmp_path) -> None:
    assert files.csv_(state(f=CSV), PATH, ROWS)[0]
    assert files.csv_(state(f=b"name;v\r\na;1.501\r\nb;2"), PATH, ROWS, abs=0.01, delimiter=";")[0]
    assert not files.csv_(state(f=b"name,v\na,1.52\nb,2"), PATH, ROWS, abs=0.01)[0]
    assert "has 2 rows" in files.csv_(state(f=b"name,v\na,1.5"), PATH, ROWS)[1]
    assert "row 2" in files.csv_(state(f=b"name,v\nb,2\na,1.5"), PATH, ROWS)[1]
    assert files.csv_(state(f=b"name,v\nb,2\na,1.5"), PATH, ROWS, ordered=False)[0]
    assert not files.csv_(state(f=b"name,v\nb,2\nb,2"), PATH, ROWS, ordered=False)[0]
    assert not files.csv_(state(f=b"name,v\na,nan\nb,2"), PATH, ROWS)[0]
    (tmp_path / "gold.csv").write_bytes(CSV)
    assert files.csv_gold(state(f=CSV), PATH, HostFile(tmp_path / "gold.csv"))[0]
    assert not files.csv_gold(state(f=CSV + b"c,3"), PATH, HostFile(tmp_path / "gold.csv"))[0]


def test_csv_cell(state) -> None:
    assert files.csv_cell(state(f=CSV), PATH, row=1, column="v", that=Predicate.parse({"close": {"to": 1.5}}))[0]
    assert files.csv_cell(state(f=CSV), PATH, row=2, column=1, that=Predicate.parse({"equals": "b"}))[0]
    for row, column in ((9, "v"), (1, "w"), (1, 7)):
        with pytest.raises(CheckFailed):
            files.csv_cell(state(f=CSV), PATH, row=row, column=column, that=ANY)


@pytest.mark.parametrize("raw", [b'"never closed', b"a" * 200_000, b"x\n" * 100_002])
def test_what_is_not_csv_fails(state, raw: bytes) -> None:
    with pytest.raises(CheckFailed):
        files.csv_(state(f=raw), PATH, ROWS)


def test_sha256(state) -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    assert files.sha256(state(f=b"x"), PATH, digest.upper())[0]
    assert not files.sha256(state(f=b"y"), PATH, digest)[0]
