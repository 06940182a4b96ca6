"""Numbers on a command line: what is legal, and what is said of what is not."""

import argparse

import pytest

from deskgym.cli.numbers import number, whole


def test_whole_numbers():
    assert whole()("3") == 3 and whole(0)("0") == 0
    for wrong in ("0", "-1", "1.5", "x", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="legal is a whole number from 1 up"):
            whole()(wrong)


def test_numbers():
    assert number()("0.5") == 0.5 and number(0, 1)("1") == 1
    for wrong in ("0", "-1", "nan", "x", "1.1"):
        with pytest.raises(argparse.ArgumentTypeError, match="legal is a number above 0 and up to 1"):
            number(0, 1)(wrong)
