"""What figures show as data, and which of them the comparison of plots takes for the same."""

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from deskgym.task_suites.table_analysis.guest.comparators import decode_value  # noqa: E402
from deskgym.task_suites.table_analysis.guest.comparators.comparing import compare  # noqa: E402
from deskgym.task_suites.table_analysis.guest.comparators.plots import THRESHOLD, similarity  # noqa: E402
from deskgym.task_suites.table_analysis.guest.results.encode import encode  # noqa: E402
from deskgym.task_suites.table_analysis.guest.results.figure_data import drawn, figure_of, picture_of, render  # noqa: E402

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


def hidden_line(**style):
    return lambda axes: axes.plot(X, Y, **style)


def covered(axes):
    axes.plot(X, Y)
    axes.add_patch(plt.Rectangle((0, 0), 1, 1, transform=axes.transAxes, color="w", zorder=9))


def covered_in_the_same_colour(axes):
    axes.plot(X, Y, color="r")
    axes.figure.add_artist(plt.Rectangle((0, 0), 1, 1, color="r", zorder=9))


def elsewhere(axes):
    axes.plot(X, Y)
    axes.set(xlim=(100, 200), ylim=(100, 200))


HIDDEN = {
    "in the background's colour": ("line", hidden_line(color="w")),
    "in almost the background's colour": ("line", hidden_line(color="#fdfdfd")),
    "in the colour of grey axes": ("line", lambda axes: (axes.set_facecolor("0.9"), axes.plot(X, Y, color="0.9"))),
    "in the colour of a figure below clear axes": (
        "line",
        lambda axes: (axes.figure.set_facecolor("b"), axes.patch.set_alpha(0), axes.plot(X, Y, color="b")),
    ),
    "transparent": ("line", hidden_line(alpha=0)),
    "almost transparent": ("line", hidden_line(alpha=0.01)),
    "of a colour without opacity": ("line", hidden_line(color=(1, 0, 0, 0))),
    "of no colour": ("line", hidden_line(color="none")),
    "of no width": ("line", hidden_line(lw=0)),
    "of no width, with markers of no size": ("line", hidden_line(lw=0, marker="o", ms=0)),
    "animated": ("line", hidden_line(animated=True)),
    "clipped away": ("line", lambda axes: axes.plot(X, Y)[0].set_clip_path(plt.Circle((0, 0), 1e-9))),
    "outside of the limits": ("line", elsewhere),
    "below a patch": ("line", covered),
    "below a patch of its colour": ("line", covered_in_the_same_colour),
    "below a wide rule": ("line", lambda axes: (axes.plot(X, Y), axes.axhline(0, lw=5000, color="w", zorder=9))),
    "below a wide rule of its colour": ("line", lambda axes: (axes.plot(X, Y, "r"), axes.axhline(0, lw=5000, c="r"))),
    "below other axes": ("line", lambda axes: (axes.plot(X, Y), axes.figure.add_axes((0, 0, 1, 1)))),
    "below a text": (
        "line",
        lambda axes: (axes.plot(X, Y), axes.text(5, 0, "a", color="w", bbox={"fc": "w", "pad": 900})),
    ),
    "in axes outside of the figure": ("line", lambda axes: (axes.plot(X, Y), axes.set_position((2, 2, 1, 1)))),
    "points of no size": ("points", lambda axes: axes.scatter(X, Y, s=0)),
    "points of no colour": ("points", lambda axes: axes.scatter(X, Y, c="none", edgecolors="none")),
    "points with one opacity each": ("points", lambda axes: axes.scatter(X, Y, alpha=np.zeros(12))),
    "points with a white edge": ("points", lambda axes: axes.scatter(X, Y, c="w", edgecolors="w")),
    "white bars": ("bars", lambda axes: axes.bar(SERIES.index, SERIES, color="w")),
    "clear bars": ("bars", lambda axes: axes.bar(SERIES.index, SERIES, color=(0, 0, 1, 0))),
    "bars of no width": ("bars", lambda axes: axes.bar(SERIES.index, SERIES, width=0)),
    "unfilled bars": ("bars", lambda axes: axes.bar(SERIES.index, SERIES, fill=False, lw=0)),
    "a white histogram": ("histogram", lambda axes: axes.hist(Y, fc="w", ec="w")),
    "white steps": ("steps", lambda axes: axes.hist(Y, histtype="step", color="w")),
    "a white pie": ("pie", lambda axes: axes.pie(SERIES, labels=SERIES.index, colors=["w"])),
    "a clear area": ("area", lambda axes: axes.fill_between(X, Y, alpha=0)),
    "a white area": ("area", lambda axes: axes.fill_between(X, Y, color="w")),
    "a clear image": ("image", lambda axes: axes.imshow(np.arange(6).reshape(2, 3), alpha=0)),
    "a white image": ("image", lambda axes: axes.imshow(np.arange(6).reshape(2, 3), vmin=9, vmax=10, cmap="gray_r")),
    "a white mesh": (
        "mesh",
        lambda axes: axes.pcolormesh(np.arange(12).reshape(3, 4), vmin=50, vmax=60, cmap="gray_r"),
    ),
}


@pytest.mark.parametrize("way", HIDDEN)
def test_what_nobody_can_see_is_not_drawn(way):
    name, draw = HIDDEN[way]
    gold, hidden = plot(DRAWINGS[name]), plot(draw)
    assert compare(gold, hidden, "plot") == (False, "nothing is drawn")


def dark(axes):
    axes.set_facecolor("k")
    axes.figure.set_facecolor("k")


def many_boxes(axes, **style):
    axes.boxplot([Y, Z, Y + 1, np.zeros(5)], **style)


HONEST = {
    "white bars with a black edge": ("bars", lambda axes: axes.bar(SERIES.index, SERIES, color="w", edgecolor="k")),
    "hatched bars": ("bars", lambda axes: axes.bar(SERIES.index, SERIES, fc="none", ec="k", lw=0, hatch="//")),
    "bars of a colour each, one of them too short to be seen": (
        lambda axes: axes.bar(list("abc"), [50000, 20000, 1]),
        lambda axes: axes.bar(list("abc"), [50000, 20000, 1], color=list("rgb")),
    ),
    "a histogram of which a part is looked at": (
        lambda axes: axes.hist(Y**3, bins=30),
        lambda axes: (axes.hist(Y**3, bins=30), axes.set(xlim=(0, 1))),
    ),
    "a line partly outside of the limits": ("line", lambda axes: (axes.plot(X, Y), axes.set(xlim=(3, 5)))),
    "a thin grey line": ("line", hidden_line(lw=0.2, color="0.7")),
    "a translucent line": ("line", hidden_line(alpha=0.1)),
    "light yellow": ("line", hidden_line(color="lightyellow")),
    "markers alone": ("points", lambda axes: axes.plot(X, Y, ".", ms=1)),
    "white on black": ("line", lambda axes: (dark(axes), axes.plot(X, Y, color="w"))),
    "grey axes": ("bars", lambda axes: (axes.set_facecolor("#EAEAF2"), axes.bar(SERIES.index, SERIES, color="w"))),
    "a logarithmic axis": (
        lambda axes: axes.plot(X, X**3),
        lambda axes: (axes.plot(X, X**3), axes.set(xscale="log", yscale="log")),
    ),
    "bars on a logarithmic axis": ("bars", lambda axes: axes.bar(SERIES.index, SERIES, log=True)),
    "points by their edges": ("points", lambda axes: axes.scatter(X, Y, facecolors="none", edgecolors="r")),
    "points with white edges": ("points", lambda axes: axes.scatter(X, Y, edgecolors="w")),
    "points with one opacity each": ("points", lambda axes: axes.scatter(X, Y, alpha=np.linspace(0.1, 1, 12))),
    "a pie with white edges": (
        "pie",
        lambda axes: axes.pie(SERIES, labels=SERIES.index, wedgeprops={"ec": "w", "lw": 2}),
    ),
    "a ring": ("pie", lambda axes: axes.pie(SERIES, labels=SERIES.index, wedgeprops={"width": 0.3})),
    "a pie with a tiny share": (
        lambda axes: axes.pie([60000, 40000, 1], labels=list("abc")),
        lambda axes: axes.pie([60000, 40000, 1], labels=list("abc"), wedgeprops={"ec": "w"}, startangle=80),
    ),
    "steps": (lambda axes: axes.step(X, Y), lambda axes: axes.step(X, Y, color="k", alpha=0.5)),
    "an area of which a part has no height": (
        lambda axes: axes.fill_between(X, np.maximum(Y, 0)),
        lambda axes: axes.fill_between(X, np.maximum(Y, 0), alpha=0.3, lw=0),
    ),
    "boxes with white medians": (
        many_boxes,
        lambda axes: many_boxes(axes, patch_artist=True, boxprops={"fc": "b"}, medianprops={"color": "w"}),
    ),
    "lines that lie on each other": (
        lambda axes: axes.plot(X, Y, X, Y, X, Z),
        lambda axes: [axes.plot(X, y, "r", lw=width) for width, y in ((1, Y), (5, Z), (3, Y))],
    ),
    "white lines over an image": (
        lambda axes: (axes.imshow(np.ones((5, 5)), "gray", vmin=0, vmax=9), axes.plot([0, 4], [0, 4])),
        lambda axes: (axes.imshow(np.ones((5, 5)), "gray", vmin=0, vmax=9), axes.plot([0, 4], [0, 4], "w")),
    ),
    "a line below a translucent span": (
        "line", lambda axes: (axes.plot(X, Y), axes.axvspan(-1, 20, alpha=0.8, zorder=5)),
    ),
    "a transparent figure": (
        "line", lambda axes: (axes.figure.patch.set_alpha(0), axes.set_axis_off(), axes.plot(X, Y)),
    ),
    "a layout": ("bars of a table", lambda axes: (axes.figure.set_layout_engine("constrained"),
                                                  TABLE.groupby("c")[["y", "z"]].mean().plot.bar(ax=axes))),
    "a second axis": (
        lambda axes: (axes.plot(X, Y), axes.twinx().bar(X, Z)),
        lambda axes: (axes.plot(X, Y, "k", zorder=9), axes.twinx().bar(X, Z, alpha=0.5)),
    ),
    "a line of one point": (
        lambda axes: (axes.plot(X, Y), axes.plot([3.0], [0.0])),
        lambda axes: (axes.plot(X, Y), axes.plot([3.0], [0.0], "k.-")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", HONEST)
def test_what_can_be_seen_is_drawn_whatever_its_style(way):
    gold, draw = HONEST[way]
    correct, message = compare(plot(DRAWINGS.get(gold, gold) if isinstance(gold, str) else gold), plot(draw), "plot")
    assert correct, message


def test_all_drawings_can_be_seen_on_black():
    for name, draw in DRAWINGS.items():
        gold = plot(draw)
        with plt.style.context("dark_background"):
            assert same(gold, plot(draw)), name


def test_one_of_two_axes_that_is_empty_to_the_eye_is_not_drawn():
    gold = plot(DRAWINGS["line"], DRAWINGS["bars"])
    assert same(gold, plot(DRAWINGS["line"], DRAWINGS["bars"]))
    assert not same(gold, plot(DRAWINGS["line"], lambda axes: axes.bar(SERIES.index, SERIES, color="w")))


def test_what_is_drawn_leaves_no_trace_in_the_figure():
    figure, axes = plt.subplots()
    artists = [axes.scatter(X, Y), *axes.bar(X, Z), axes.plot(X, Y, visible=False)[0]]
    page = render(figure)
    before = page.tobytes(), [artist.get_visible() for artist in artists]
    drawn(figure, page)
    assert (render(figure).tobytes(), [artist.get_visible() for artist in artists]) == before


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
    assert not same(gold, plot(lambda axes: axes.plot([0.1], [0.5], "o")))


def test_rendering_leaves_the_figure_as_it_was():
    figure, axes = plt.subplots(figsize=(3, 2), dpi=72)
    canvas = figure.canvas
    axes.plot(X, Y)
    picture = render(figure)
    assert (picture.size, picture.mode) == ((800, 600), "RGB")
    assert tuple(figure.get_size_inches()) == (3, 2) and figure.dpi == 72 and figure.canvas is canvas


def test_a_plot_is_found_in_what_holds_it():
    figure, axes = plt.subplots(2, 2)
    (line,) = axes[0, 0].plot(X, Y)
    grids = (figure, axes, axes[0, 1], line, [line], list(axes), {"a": line}, pd.Series([axes[0, 0]]))
    assert all(figure_of(found) is figure for found in grids)
    assert figure_of(3) is None and figure_of([1, 2]) is None
    assert len(drawn(figure, render(figure))) == 1


def test_without_the_variable_the_current_figure_is_taken():
    assert picture_of({}, "figure") is None
    plt.bar([1, 2], [3, 4])
    found = picture_of({}, "figure")
    assert found is not None and found["drawn"][0]["bars"][0][3].tolist() == [3, 4]
    with pytest.raises(TypeError, match="figure is a int"):
        picture_of({"figure": 3}, "figure")
