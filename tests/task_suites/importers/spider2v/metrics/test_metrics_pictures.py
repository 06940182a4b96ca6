"""Metrics of pictures."""

import cv2
import numpy as np
import pytest
from metric_scores import scores
from skimage.metrics import structural_similarity

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.task_suites.importers.spider2v.metrics import GoldBroken
from deskgym.task_suites.importers.spider2v.metrics.pictures import similarity

METRICS = ("compare_images", "compare_metabase_images", "compare_jupyterlab_images", "compare_image_list")


def png(pixels) -> bytes:
    return cv2.imencode(".png", pixels)[1].tobytes()


def chart(bars=(30, 90, 60), color=(200, 120, 40), size=(240, 320)) -> np.ndarray:
    picture = np.full((*size, 3), 255, np.uint8)
    for k, height in enumerate(bars):
        cv2.rectangle(picture, (40 + 90 * k, size[0] - 20 - height), (90 + 90 * k, size[0] - 20), color, -1)
    cv2.line(picture, (20, size[0] - 20), (size[1] - 10, size[0] - 20), (0, 0, 0), 2)
    return picture


def test_the_gold_is_right_and_nothing_is_wrong() -> None:
    gold = png(chart())
    for name in METRICS:
        assert scores(name, gold, gold) == (1, 1), name
        assert scores(name, gold[:50], gold) == (0, 0), name
    assert scores(METRICS[0], b"", gold) == scores(METRICS[0], b"GIF89a", gold) == (0, 0)
    with pytest.raises(GoldBroken):
        scores(METRICS[0], gold, b"")


def test_another_chart() -> None:
    gold, other, blank = map(png, (chart(), chart((150, 20, 110), (40, 40, 220)), np.full_like(chart(), 255)))
    for name in METRICS:
        assert scores(name, other, gold)[1] == 0, name
        assert scores(name, blank, gold)[1] == 0, name


def test_bars_in_another_order_have_the_same_histogram() -> None:
    gold, other = png(chart()), png(chart((90, 30, 60)))
    assert scores("compare_jupyterlab_images", other, gold) == (1, 0)


def test_sizes() -> None:
    gold = png(chart())
    larger = png(cv2.resize(chart(), (960, 720)))
    assert scores("compare_images", larger, gold)[1] == 0
    assert scores("compare_image_list", png(np.vstack([chart(), chart()])), gold) == (1, 0), "upstream crops"
    assert scores("compare_image_list", [gold, gold], [gold, gold]) == (1, 1)
    assert scores("compare_image_list", [gold], [gold, gold]) == (1, 0)
    assert scores("compare_image_list", [gold, None], [gold, gold]) == (0, 0)
    assert scores("compare_images", png(chart()[:3, :3]), gold) == (0, 0)


def test_the_similarity_is_scikit_images() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        a, b = (rng.integers(0, 256, (40, 51), dtype=np.uint8) for _ in "ab")
        b = ((a.astype(int) * 3 + b) // 4).astype(np.uint8)
        assert similarity(a, b) == pytest.approx(structural_similarity(a, b), abs=1e-9)
    with pytest.raises(CheckFailed, match="too small"):
        similarity(np.zeros((6, 50), np.uint8), np.zeros((6, 50), np.uint8))
