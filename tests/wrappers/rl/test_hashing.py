"""hashed: the same numbers everywhere, texts that share words are near each other, and fast enough for every step."""

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.wrappers.rl.hashing import hashed, tokens

NAMES = ("speed", "mass", "force", "k1", "radius", "alpha", "x", "volume")


@given(st.text(max_size=2000), st.sampled_from([1, 2, 7, 64, 1000]))
def test_any_text_is_a_unit_vector_or_zero(text, size):
    vector = hashed(text, size)
    assert vector.shape == (size,) and vector.dtype == np.float32
    assert np.abs(vector).max() <= 1
    norm = np.linalg.norm(vector)
    assert norm == pytest.approx(1, abs=1e-5) or norm == 0


def test_a_text_without_tokens_is_zero():
    assert not hashed("", 64).any() and not hashed(" \n\t", 64).any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Speed:=42", ["speed", ":=", "42"]),
        ("y = 5*x_1 + 2.5", ["y", "=", "5", "*", "x_1", "+", "2.5"]),
        ("2D Graph, 1e-9!", ["2d", "graph", ",", "1e-9", "!"]),
        ("a->b <= STRASSE ß", ["a", "->", "b", "<=", "strasse", "ss"]),
        ("10.", ["10", "."]),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


def test_case_and_spaces_do_not_count():
    np.testing.assert_array_equal(hashed("Set  Speed", 64), hashed("set speed", 64))


@pytest.mark.parametrize(("size", "nearer"), [(256, 0.9), (512, 0.95)])
@pytest.mark.parametrize("name", NAMES)
def test_the_number_that_was_asked_for_is_nearer(name, size, nearer):
    gaps = []
    for number in range(10, 60):
        other = int(str(number)[::-1]) if number % 11 else number + 7
        asked = hashed(f"set {name} to {number}", size)
        gaps.append(asked @ hashed(f"{name}:={number}", size) - asked @ hashed(f"{name}:={other}", size))
    assert np.mean(np.array(gaps) > 0) >= nearer and np.mean(gaps) > 0.2


def test_a_formula_is_nearest_to_itself():
    formulas = [
        form.replace("@", str(k)) for form in ("sin(@*x)", "x^2-@", "x^2+@", "@*x", "abs(x)-@") for k in range(2, 19)
    ]
    products = (
        np.stack([hashed(f"Plot y = {f} in the graph.", 512) for f in formulas])
        @ np.stack([hashed(f, 512) for f in formulas]).T
    )
    assert (products.argmax(1) == np.arange(len(formulas))).all()


def test_the_order_of_words_counts_a_little():
    one, other = hashed("alpha beta gamma", 64), hashed("gamma beta alpha", 64)
    assert 0.7 < one @ other < 0.99


def test_trigrams_bring_forms_of_a_word_together():
    assert hashed("calculator", 256) @ hashed("calculators", 256) > 0.15
    assert abs(hashed("calculator", 256) @ hashed("dictionary", 256)) < 0.15


def test_unrelated_texts_are_unrelated_on_average():
    vectors = np.stack([hashed(f"w{k}q{k * 7919}", 64) for k in range(300)])
    products = (vectors @ vectors.T)[np.triu_indices(300, 1)]
    assert abs(products.mean()) < 0.02 and products.std() < 0.2


def test_small_numbers_are_told_apart_by_one_product():
    vectors = np.stack([hashed(str(k), 64) for k in range(20)])
    assert (vectors @ vectors.T)[np.triu_indices(20, 1)].max() < 0.5


def test_lines_add_up_in_long_texts_as_in_short_ones():
    line = "3\tpush button\tPlot y = 5*x"
    np.testing.assert_allclose(hashed("\n".join([line] * 300), 64), hashed(line, 64), atol=1e-5)
    np.testing.assert_allclose(hashed(f"a b {line * 300}\n" * 2, 64), hashed(f"a b {line * 300}", 64), atol=1e-5)


def test_it_is_the_same_in_another_process():
    code = "from deskgym.wrappers.rl.hashing import hashed; print(hashed('set speed to 42', 8).tolist())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert other.stdout.strip() == str(hashed("set speed to 42", 8).tolist())


def test_what_is_shared_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        hashed("shared", 8)[0] = 1


def test_a_size_below_one_is_an_error():
    with pytest.raises(ValueError, match="size=0; legal is a number from 1 up"):
        hashed("x", 0)


def _fastest_ms(call, tries=5):
    times = []
    for k in range(tries):
        start = time.perf_counter()
        call(k)
        times.append((time.perf_counter() - start) * 1000)
    return min(times)


def test_a_hundred_texts_cost_little():
    assert _fastest_ms(lambda k: [hashed(f"Row {k} {n} of the table {n * n}", 64) for n in range(100)]) < 20
    texts = [f"Item {n}" for n in range(100)]
    assert _fastest_ms(lambda _: [hashed(text, 64) for text in texts]) < 1
