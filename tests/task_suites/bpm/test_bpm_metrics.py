"""The metrics of the six tasks, against scikit-learn and SciPy, and where the paper's differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from deskgym.task_suites.bpm.metrics import Confusion, rank_correlations, segmentation_scores, step_scores
from deskgym.task_suites.bpm.procedure_text import published_steps_of, steps_of

ANSWERS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


@pytest.mark.filterwarnings("ignore:A single label was found")  # by scikit-learn
@given(ANSWERS)
def test_what_is_said_of_demonstrations_counts_as_in_scikit_learn(answers):
    right, said = map(list, zip(*answers, strict=True))
    found = Confusion.of(right, said)
    assert found.tp + found.fp + found.tn + found.fn == len(answers)
    assert found.precision == pytest.approx(precision_score(right, said, zero_division=0))
    assert found.recall == pytest.approx(recall_score(right, said, zero_division=0))
    assert found.f1 == pytest.approx(f1_score(right, said, zero_division=0))
    assert found.mcc == pytest.approx(matthews_corrcoef(right, said))
    if len(set(right)) == 2:
        assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(right, said))


def test_whoever_says_the_same_of_all_gains_nothing():
    found = Confusion.of([True, *[False] * 6], [True] * 7)
    assert (found.recall, round(found.f1, 2)) == (1, 0.25) and (found.balanced_accuracy, found.mcc) == (0.5, 0)


@pytest.mark.parametrize(
    ("predicted", "right", "scores"),
    [
        ([0, 1, 2], [0, 1, 2], (1, 1, 1)),
        ([2, 1, 0], [2, 1, 0], (1, 1, 1 / 3)),
        ([0, -1, 0, 1], [0, 3], (0.75, 1, 0.75)),  # a step that is done twice
        ([1, 0, 1], [1, -1], (1, 0.5, 2 / 3)),
        ([-1, -1], [-1], (0, 0, 0)),
        ([], [-1, -1], (0, 0, 0)),
    ],
)
def test_steps_are_scored_by_what_they_match(predicted, right, scores):
    found = step_scores(predicted, right)
    assert (found.precision, found.recall, found.ordering) == pytest.approx(scores)
    assert (found.f1 == 0) == (scores[0] + scores[1] == 0)


@given(st.permutations(range(5)), st.permutations(range(1, 6)))
def test_an_order_is_turned_into_ranks_before_it_is_compared(order, ranks):
    said = [order.index(item) + 1 for item in range(5)]
    right = spearmanr(said, ranks).statistic, kendalltau(said, ranks).statistic
    assert rank_correlations(order, ranks) == pytest.approx(right)
    best_first = sorted(range(5), key=ranks.__getitem__)
    assert rank_correlations(best_first, ranks) == pytest.approx((1, 1))


def test_the_published_comparison_punishes_the_right_order():
    ranks = [2, 3, 1]
    assert rank_correlations([2, 0, 1], ranks) == pytest.approx((1, 1))
    assert rank_correlations([2, 0, 1], ranks, paper=True)[0] == pytest.approx(-0.5)


@pytest.mark.parametrize("order", [[0, 0, 1], [1, 2, 3], [0, 1]])
def test_an_order_has_each_once(order):
    with pytest.raises(ValueError, match=r"legal is each of 0 to 2 once"):
        rank_correlations(order, [1, 2, 3])


def test_frames_of_no_workflow_are_one_of_their_own():
    assert segmentation_scores("AABB", "xxyy") == pytest.approx((1, 1))
    assert segmentation_scores("AABB", [None, None, "y", "y"]) == pytest.approx((1, 1))
    assert segmentation_scores("AABB", [None] * 4) == pytest.approx((0, 0))
    assert segmentation_scores(["A", 1, 1, None], ["B", 2, 2, 3]) == pytest.approx((1, 1))


@pytest.mark.parametrize(
    ("text", "steps", "published"),
    [
        ("1. Open it.\n2. Save.", ["Open it.", "Save."], ["Open it.", "Save."]),
        ("1. Open\nThat is all.", ["Open That is all."], ["Open"]),
        ("Title\n\n1) Open\n2) Save", ["Open", "Save"], ["Title", "1) Open", "2) Save"]),
        ("```\nStep 1: Open a\n  file. Twice\n```", ["Open a file. Twice"], ["```", "Step 1: Open a", "Twice", "```"]),
        ("Open\nSave", ["Open", "Save"], ["Open", "Save"]),
        ("10. See v1.2.", ["See v1.2."], ["See v1.2."]),
        ("", [], []),
    ],
)
def test_the_steps_of_a_procedure(text, steps, published):
    assert steps_of(text) == steps and published_steps_of(text) == published
