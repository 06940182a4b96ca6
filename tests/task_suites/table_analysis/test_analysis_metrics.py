"""Acc, AccR, AccSE and AccSER against numbers worked out by hand, and the offline embeddings."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.task_suites.table_analysis.embeddings import (
    LOCAL_LABEL,
    Embeddings,
    character_grams,
    code_tokens,
    cosine,
)
from deskgym.task_suites.table_analysis.metrics import measure, near_credit, score_intents, wilson
from deskgym.task_suites.table_analysis.turns import IntentOutcome, Outcome

REFERENCE = 'mean_mass = penguins.loc[penguins["island"] == "Biscoe", "body_mass_g"].mean()'


def outcome(*intents, mode="normal", action="", **rest):
    made = tuple(IntentOutcome(f"v{number}", kind, correct) for number, (kind, correct) in enumerate(intents))
    return Outcome("penguins/ines/normal/t#0", "penguins", mode, action, made, **rest)


def choice(correct, options=4, **rest):
    return outcome(("choice", correct), mode="action", action="best_guess", options=options, **rest)


def fixed(s1, s2):
    """Embeddings whose cosines of two unequal texts are s1 and s2."""

    def slot(similarity):
        return lambda text: (1.0, 0.0) if text == "gold" else (similarity, math.sqrt(1 - similarity**2))

    return Embeddings(slot(s1), slot(s2), label="fixed")


def test_acc_counts_intents_and_not_turns():
    scores = measure([outcome(("value", True), ("plot", False), ("series", True)), outcome(("value", False))])
    assert (scores.intents, scores.correct, scores.acc) == (4, 2, 0.5)
    assert scores.acc_r == scores.acc and scores.chance == 0 and scores.above_chance is None


@pytest.mark.parametrize("mode, acc_r", [("private", 0.25), ("private-action", 0.25), ("normal", 1.0), ("action", 1.0)])
def test_recall_weighs_only_in_private_modes(mode, acc_r):
    scores = measure([outcome(("value", True), mode=mode, recall=0.25)])
    assert (scores.acc, scores.acc_r, scores.acc_se, scores.acc_ser) == (1, acc_r, 1, acc_r)


def test_nothing_to_recall_and_a_choice_weigh_one():
    no_function = outcome(("value", True), mode="private", recall=None)
    letter = outcome(
        ("choice", True), mode="private-action", action="plot_qa", recall=0.0, options=4, answer="A", right="A"
    )
    assert measure([no_function, letter]).acc_r == 1


@pytest.mark.parametrize(
    "s1, s2, credit",
    [
        (0.86, 0.91, 0.5),
        (0.86, 0.9, 0.25),
        (0.85, 0.91, 0.25),
        (0.85, 0.9, 0.0),
        (0.84, 0.99, 0.25),
        (0.1, 0.1, 0.0),
    ],
)
def test_near_code_earns_part_of_a_point(s1, s2, credit):
    wrong = outcome(("value", False), mode="private", recall=0.5, reference="gold", executed=("other",))
    scores = measure([wrong], fixed(s1, s2))
    assert (scores.acc, scores.acc_se, scores.acc_ser) == (0, credit, credit / 2)


def test_the_executed_code_is_compared_as_one():
    assert near_credit("a\nb", ("a", "b"), Embeddings(lambda t: [t == "a\nb"], lambda t: [t == "a\nb"], "equal")) == 0.5


def test_without_code_there_is_no_credit():
    for executed in ((), ("",), (" \n",)):
        assert measure([outcome(("value", False), reference=REFERENCE, executed=executed)]).acc_se == 0


def test_a_wrong_choice_earns_nothing_however_near_its_code():
    scores = measure([choice(False, reference="gold", executed=("gold",)), choice(True)], fixed(1.0, 1.0))
    assert (scores.acc, scores.acc_se) == (0.5, 0.5)


def test_chance_is_that_of_the_options():
    scores = measure([choice(True), choice(False, options=2), outcome(("value", True))])
    assert scores.chance == pytest.approx((1 / 4 + 1 / 2 + 0) / 3)


def test_errors_are_left_out():
    scores = measure([outcome(("value", True)), outcome(("value", False), error="lost"), outcome(error="lost")])
    assert (scores.intents, scores.acc) == (1, 1)
    nothing = measure([outcome(error="lost")])
    assert nothing.intents == 0 and nothing.acc is None and nothing.low is None and nothing.above_chance is None


@pytest.mark.parametrize(
    "bad, message",
    [
        (outcome(), "neither intents nor an error"),
        (choice(True, options=0), "a choice of 0 options"),
        (outcome(("value", True), recall=1.5), "legal is a share"),
        (outcome(("value", "yes")), "legal are true and false"),
    ],
)
def test_an_outcome_that_cannot_be_scored(bad, message):
    with pytest.raises(ValueError, match=message):
        score_intents([bad])


@pytest.mark.parametrize(
    "correct, count, low, high",
    [
        (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 1, 0.2065, 1.0),
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I, method 3
    ],
)  # fmt: skip
def test_wilson_intervals(correct, count, low, high):
    assert wilson(correct, count) == pytest.approx((low, high), abs=6e-5)


def test_wilson_of_nothing():
    for bad in ((0, 0), (2, 1), (-1, 3)):
        with pytest.raises(ValueError, match="legal is"):
            wilson(*bad)


def test_above_chance_needs_the_whole_interval():
    assert measure([choice(True)] * 12 + [choice(False)] * 8).above_chance is True
    assert measure([choice(True)] * 5 + [choice(False)] * 15).above_chance is False
    assert measure([choice(True)] * 7 + [choice(False)] * 13).above_chance is False


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.booleans()), min_size=1))
def test_the_numbers_are_ordered(turns):
    outcomes = [
        outcome(
            ("value", ok), mode="private", recall=recall, reference=REFERENCE, executed=(REFERENCE if near else "x",)
        )
        for ok, recall, near in turns
    ]
    scores = measure(outcomes)
    assert 0 <= scores.acc_r <= scores.acc <= scores.acc_se <= 1 and scores.acc_r <= scores.acc_ser <= scores.acc_se
    assert scores.low <= scores.acc <= scores.high


def test_local_embeddings_tell_near_code_from_far():
    renamed = REFERENCE.replace("Biscoe", "Dream") + "  # of birds\n\n"
    far = "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.hist(tips['total'])"
    for embed in (code_tokens, character_grams):
        assert cosine(embed, REFERENCE, REFERENCE) == pytest.approx(1)
        assert cosine(embed, REFERENCE, renamed) > 0.75 > 0.4 > cosine(embed, REFERENCE, far)
    assert cosine(code_tokens, REFERENCE, REFERENCE + "  # a comment\n") == pytest.approx(1)


@given(st.text(), st.text())
def test_local_embeddings_take_any_text(one, other):
    for similarity in Embeddings().similarities(one, other):
        assert 0 <= similarity <= 1


def test_local_embeddings_are_the_same_in_every_process():
    code = (
        "from deskgym.task_suites.table_analysis.embeddings import *; "
        f"t = {REFERENCE!r}; print([int(i) for e in (code_tokens, character_grams) for i in e(t).nonzero()[0]])"
    )
    here = [int(i) for embed in (code_tokens, character_grams) for i in embed(REFERENCE).nonzero()[0]]
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert there.strip() == str(here)


def test_embeddings_of_ones_own_are_labelled():
    assert "not the paper's models" in LOCAL_LABEL == Embeddings().label
    with pytest.raises(ValueError, match="need a label"):
        Embeddings(code=lambda text: [1.0])


@pytest.mark.parametrize(
    "embed, message",
    [
        (lambda text: [], "legal are vectors"),
        (lambda text: [1.0] * len(text), "legal are vectors"),
        (lambda text: [math.nan], "not finite"),
    ],
)
def test_a_bad_model_is_named(embed, message):
    wrong = outcome(("value", False), reference="gold", executed=("other",))
    with pytest.raises(ValueError, match=f"the code model gives .*{message}"):
        measure([wrong], Embeddings(code=embed, label="mine"))


def test_a_vector_of_zeros_is_like_nothing():
    assert cosine(lambda text: [0.0, 0.0], "a", "b") == 0
