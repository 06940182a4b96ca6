"""What figures show as data, and which of them the comparison of plots takes for the same."""

import io

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from PIL import Image  # noqa: E402

from deskgym.envs.guest.comparing import compare  # noqa: E402
from deskgym.envs.guest.comparing_plots import THRESHOLD, similarity  # noqa: E402
from deskgym.envs.guest.drawn import drawn, figure_of, picture_of, render  # noqa: E402
from deskgym.envs.guest.values import decode_value, encode  # noqa: E402

RANDOM = np.random.default_rng(0)
X, Y, Z = np.arange(12.0), RANDOM.normal(size=12), RANDOM.normal(size=12)
SERIES = pd.Series([3.0, 1.0, 2.0], index=["gentoo", "adelie", "chinstrap"])
TABLE = pd.DataFrame({"x": X, "y": Y, "z": Z, "c": list("abc") * 4})
MONTHS = pd.Series(range(24), index=pd.date_range("2020-01-01", periods=24, freq="MS"))

DRAWINGS = {
    "line": lambda axes: axes.plot(X, Y),
    "two lines": lambda axes: axes.plot(X, Y, X, Z),
    "points": lambda axes: axes.scatter(X, Y),
    "two groups": lambda axes: [axes.scatter(X[part], Y[part]) for part in (slice(5), slice(5, 12))],
    "bars": lambda axes: axes.bar(SERIES.index, SERIES),
    "lying bars": lambda axes: axes.barh(SERIES.index, SERIES),
    "other bars": lambda axes: axes.bar(SERIES.index, SERIES[::-1]),
    "bars of a table": lambda axes: TABLE.groupby("c")[["y", "z"]].mean().plot.bar(ax=axes),
    "stacked bars": lambda axes: TABLE.groupby("c")[["y", "z"]].mean().abs().plot.bar(ax=axes, stacked=True),
    "histogram": lambda axes: axes.hist(Y),
    "steps": lambda axes: axes.hist(Y, histtype="step"),
    "pie": lambda axes: axes.pie(SERIES, labels=SERIES.index),
    "box plot": lambda axes: TABLE.boxplot(column="y", by="c", ax=axes),
    "violins": lambda axes: axes.violinplot([Y, Z]),
    "area": lambda axes: axes.fill_between(X, Y),
    "errors": lambda axes: axes.errorbar(X, Y, yerr=0.1, capsize=2),
    "image": lambda axes: axes.imshow(np.arange(6).reshape(2, 3)),
    "mesh": lambda axes: axes.pcolormesh(np.arange(12).reshape(3, 4)),
    "months": lambda axes: MONTHS.plot(ax=axes),
    "density": lambda axes: axes.hexbin(X, Y, gridsize=5),
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def plot(*draws, titles=True):
    figure, many = plt.subplots(1, max(1, len(draws)), squeeze=False)
    for axes, draw in zip(many[0], draws, strict=False):
        draw(axes)
        if titles:
            axes.set_title("A title")
    found = picture_of({"figure": figure}, "figure")
    plt.close(figure)
    return decode_value(encode(found))


def same(gold, got, mode="corrected", **options):
    return compare(gold, got, "plot", options, mode)[0]


def test_each_drawing_is_like_itself_and_like_no_other():
    plots = {name: plot(draw) for name, draw in DRAWINGS.items()}
    again = {name: plot(draw, titles=False) for name, draw in DRAWINGS.items()}
    alike = {(one, other) for one in plots for other in again if same(plots[one], again[other])}
    grouped = {("points", "two groups")}  # what is asked for without groups may be drawn in groups
    assert alike == {(name, name) for name in DRAWINGS} | grouped


@pytest.mark.parametrize("name", ["line", "points", "bars", "histogram", "pie", "image"])
def test_a_blank_canvas_is_refused_whatever_its_similarity(name):
    gold, blank = plot(DRAWINGS[name]), plot(titles=False)
    reached = similarity(gold["png"], blank["png"])
    assert same(gold, blank, "paper") == (reached > THRESHOLD)
    assert not same(gold, blank)


def test_blank_axes_of_the_same_limits_pass_the_paper_and_are_refused_here():
    gold = plot(lambda axes: axes.scatter(X, Y, s=4))

    def nothing(axes):
        axes.scatter(X, Y, s=4)
        axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
        axes.collections[0].remove()

    blank = plot(nothing)
    assert similarity(gold["png"], blank["png"]) > 0.9
    assert same(gold, blank, "paper") and not same(gold, blank)


@pytest.mark.parametrize(
    ("gold", "got"),
    [
        (lambda axes: axes.plot(X, Y, X, Z), lambda axes: axes.plot(X, Z, "r--", X[::-1], Y[::-1], "g")),
        (lambda axes: axes.scatter(X, Y), lambda axes: axes.plot(X[::-1], Y[::-1], "o")),
        (DRAWINGS["two groups"], lambda axes: axes.scatter(X, Y, c=[0] * 5 + [1] * 7)),
        (lambda axes: SERIES.plot.bar(ax=axes), lambda axes: axes.bar(sorted(SERIES.index), SERIES.sort_index())),
        (lambda axes: SERIES.plot.barh(ax=axes), lambda axes: axes.barh(SERIES.index, SERIES, height=0.3)),
        (DRAWINGS["bars"], lambda axes: [axes.bar(name, value, color="r") for name, value in SERIES.items()]),
        (
            lambda axes: pd.Series([5, 6], index=[2007, 2009]).plot.bar(ax=axes),
            lambda axes: axes.bar([2007, 2009], [5, 6]),
        ),
        (lambda axes: MONTHS.plot(ax=axes), lambda axes: axes.plot(MONTHS.index, MONTHS)),
        (lambda axes: axes.plot(MONTHS.index, MONTHS), lambda axes: MONTHS.plot(ax=axes)),
        (lambda axes: SERIES.plot.pie(ax=axes), lambda axes: axes.pie(SERIES, startangle=90)),
        (
            lambda axes: axes.boxplot([Y, Z], tick_labels=["a", "b"]),
            lambda axes: axes.boxplot([Z, Y], tick_labels=["b", "a"], patch_artist=True),
        ),
        (lambda axes: axes.plot(X, Y), lambda axes: (axes.plot(X, Y), axes.axhline(0), axes.legend(["a"]))),
        (DRAWINGS["points"], lambda axes: axes.scatter(X, Y, c=list("rgb") * 4)),
        (lambda axes: TABLE.hist("y", ax=axes), lambda axes: axes.hist(Y, rwidth=0.8)),
        (lambda axes: axes.imshow(np.eye(3)), lambda axes: axes.figure.colorbar(axes.imshow(np.eye(3), "gray"))),
    ],
)
def test_other_ways_to_draw_the_same_data(gold, got):
    correct, message = compare(plot(gold), plot(got, titles=False), "plot")
    assert correct, message


@pytest.mark.parametrize(
    ("gold", "got"),
    [
        (DRAWINGS["line"], DRAWINGS["points"]),
        (DRAWINGS["line"], lambda axes: axes.plot(X, Y + 0.1)),
        (DRAWINGS["line"], lambda axes: axes.plot(X, Y, X, Z)),
        (DRAWINGS["line"], lambda axes: axes.plot(RANDOM.permutation(X), Y)),
        (DRAWINGS["bars"], DRAWINGS["lying bars"]),
        (DRAWINGS["bars"], lambda axes: axes.bar(range(3), SERIES)),
        (DRAWINGS["bars"], lambda axes: axes.bar(["a", "b", "c"], SERIES)),
        (DRAWINGS["bars"], lambda axes: axes.bar(SERIES.index[:2], SERIES[:2])),
        (DRAWINGS["two groups"], DRAWINGS["points"]),
        (DRAWINGS["points"], lambda axes: [axes.scatter(X[part], Y[part]) for part in (slice(5), slice(5, 11))]),
        (DRAWINGS["points"], lambda axes: [axes.scatter(X, Y) for _ in range(2)]),
        (DRAWINGS["pie"], lambda axes: axes.pie(SERIES, labels=SERIES.index[::-1])),
        (DRAWINGS["histogram"], lambda axes: axes.hist(Y, bins=12)),
        (lambda axes: axes.imshow(np.arange(9).reshape(3, 3)), lambda axes: axes.imshow(np.arange(9).reshape(3, 3).T)),
        (lambda axes: (axes.plot(X, Y), axes.axhline(0.5)), DRAWINGS["line"]),
        (DRAWINGS["months"], lambda axes: axes.plot(MONTHS.index + pd.Timedelta(days=40), MONTHS)),
        (DRAWINGS["line"], lambda axes: axes.plot(X, Y)[0].set_visible(False)),
    ],
)
def test_other_data(gold, got):
    correct, message = compare(plot(gold), plot(got), "plot")
    assert not correct and message


def test_axes_may_be_in_any_order_but_all_must_be_there():
    gold = plot(DRAWINGS["line"], DRAWINGS["bars"])
    assert same(gold, plot(DRAWINGS["bars"], DRAWINGS["line"]))
    assert not same(gold, plot(DRAWINGS["line"]))
    assert not same(gold, plot(DRAWINGS["line"], DRAWINGS["bars"], DRAWINGS["points"]))


def test_the_tolerance_is_of_the_range_of_the_axis():
    gold = plot(DRAWINGS["line"])
    shifted = plot(lambda axes: axes.plot(X, Y + 0.01 * np.ptp(Y)))
    assert not same(gold, shifted) and same(gold, shifted, rtol=0.02)
    assert same(gold, plot(lambda axes: axes.plot(X, Y + 0.0005 * np.ptp(Y))))


def test_a_gold_without_data_is_compared_by_its_picture():
    gold = plot(lambda axes: axes.text(0.1, 0.5, "Nothing to draw", size=40))
    assert gold["drawn"] == []
    assert same(gold, plot(lambda axes: axes.text(0.1, 0.5, "Nothing to draw", size=40)))
    assert not same(gold, plot(lambda axes: axes.imshow(RANDOM.random((90, 120)))), "paper")
    assert not same(gold, plot(lambda axes: axes.plot([0.1], [0.5])))


def test_rendering_leaves_the_figure_as_it_was():
    figure, axes = plt.subplots(figsize=(3, 2), dpi=72)
    canvas = figure.canvas
    axes.plot(X, Y)
    picture = Image.open(io.BytesIO(render(figure)))
    assert (picture.size, picture.mode) == ((800, 600), "RGB")
    assert tuple(figure.get_size_inches()) == (3, 2) and figure.dpi == 72 and figure.canvas is canvas


def test_a_plot_is_found_in_what_holds_it():
    figure, axes = plt.subplots(2, 2)
    (line,) = axes[0, 0].plot(X, Y)
    grids = (figure, axes, axes[0, 1], line, [line], list(axes), {"a": line}, pd.Series([axes[0, 0]]))
    assert all(figure_of(found) is figure for found in grids)
    assert figure_of(3) is None and figure_of([1, 2]) is None
    assert len(drawn(figure)) == 1


def test_without_the_variable_the_current_figure_is_taken():
    assert picture_of({}, "figure") is None
    plt.bar([1, 2], [3, 4])
    found = picture_of({}, "figure")
    assert found is not None and found["drawn"][0]["bars"][0][3].tolist() == [3, 4]
    with pytest.raises(TypeError, match="figure is a int"):
        picture_of({"figure": 3}, "figure")
