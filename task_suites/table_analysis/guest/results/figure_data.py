"""What a matplotlib figure shows: its picture, and the data that are drawn in it."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from deskgym.task_suites.table_analysis.guest.results import figure_marks as marks

WIDTH, HEIGHT = 800, 600
"""Pixels of a picture (Tapilot-Crossing, comparison of plots)."""
DPI = 100
FAINT = 5
"""Levels of 255 by which a pixel of a channel must change to be seen."""
_TEXT = 200


def picture_of(namespace: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The picture and the drawn data of the plot in variable ``name``, or of the current figure without it.

    Returns:
        ``{"png": bytes, "drawn": list}``, or None when there is no figure at all.

    Raises:
        TypeError: the variable holds no plot.
    """
    if name in namespace:
        figure = figure_of(namespace[name])
        if figure is None:
            raise TypeError(f"{name} is a {type(namespace[name]).__name__}; legal are a Figure and its Axes")
    else:
        figure = _current()
        if figure is None:
            return None
    page = render(figure)
    buffer = io.BytesIO()
    page.save(buffer, "PNG", compress_level=1)
    return {"png": buffer.getvalue(), "drawn": drawn(figure, page)}


def figure_of(value: Any) -> Any | None:
    """The Figure that ``value`` is or belongs to: of an Axes, an artist, a grid of plots, or the first of many."""
    from matplotlib.figure import Figure, FigureBase

    for found in _candidates(value):
        figure = found if isinstance(found, FigureBase) else getattr(found, "figure", None)
        for _ in range(5):
            if isinstance(figure, Figure):
                return figure
            figure = getattr(figure, "figure", None)
    return None


def _candidates(value: Any, depth: int = 3) -> Iterator[Any]:
    yield value
    if isinstance(value, dict):
        value = list(value.values())
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and depth:
        for part in value[:100]:
            yield from _candidates(part, depth - 1)


def _current() -> Any | None:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.gcf() if pyplot is not None and pyplot.get_fignums() else None


def render(figure: Any) -> Any:
    """The figure as a PIL image of ``WIDTH`` x ``HEIGHT`` pixels, RGB on white, by Agg; the figure stays as it was."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    size, dpi, canvas = figure.get_size_inches().copy(), figure.dpi, figure.canvas
    try:
        figure.set_size_inches(WIDTH / DPI, HEIGHT / DPI, forward=False)
        figure.dpi = DPI
        agg: Any = FigureCanvasAgg(figure)
        agg.draw()
        shown = Image.frombuffer("RGBA", agg.get_width_height(), agg.buffer_rgba(), "raw", "RGBA", 0, 1)
        page = Image.new("RGB", shown.size, "white")
        page.paste(shown, mask=shown)
    finally:
        figure.set_canvas(canvas)
        figure.dpi = dpi
        figure.set_size_inches(size, forward=False)
    return page


def drawn(figure: Any, page: Any) -> list[dict[str, Any]]:
    """The data in each of the axes of a figure, of which ``render`` has made the page.

    Axes in which nothing is drawn or nothing of it can be seen, and colour bars, are left out. All coordinates are
    float64 arrays in the units of the axes: a date is matplotlib's number of it. Of each axes:

    - ``lines``: list of (x, y), each of shape (n,);
    - ``points``: list of (x, y): scatter plots, one of at most 20 colours as one series a colour, and lines that have
      markers alone;
    - ``bars``: list of (``"x"`` or ``"y"``, middle, low, high): the axis along which they stand, their middles on it,
      and from where to where they reach on the other one;
    - ``areas``: list of (x, y), the outlines of what is filled, and of ``LineCollection`` the segments;
    - ``wedges``: list of (label, share of the circle);
    - ``images``: list of arrays: ``imshow``, ``pcolormesh``;
    - ``rules``: list of (axis, position) of ``axhline`` and ``axvline``;
    - ``ticks``: for ``"x"`` and ``"y"`` None, or (positions, labels) of an axis of categories;
    - ``period``: ``""``, or the frequency of the ordinals that pandas has put on the x axis;
    - ``texts``: title, labels and legend, for messages.
    """
    found = [axes for axes in figure.get_axes() if axes.get_visible() and axes.get_label() != "<colorbar>"]
    all_data = [(axes, _axes(axes)) for axes in found]
    return [data for axes, data in all_data if any(data[kind] for kind in marks.KINDS) and _shows(figure, axes, page)]


def _shows(figure: Any, axes: Any, page: Any) -> bool:
    """Whether the figure's page is another one without the axes' marks.

    Else nobody can see them: they have the background's colour, no width, or lie outside the limits or below a cover.
    """
    from PIL import ImageChops

    visible = [artist for artist in marks.artists(axes) if artist.get_visible()]
    for artist in visible:
        artist.set_visible(False)
    try:
        difference: Any = ImageChops.difference(page, render(figure))
    finally:
        for artist in visible:
            artist.set_visible(True)
    return any(high > FAINT for _, high in difference.getextrema())


def _axes(axes: Any) -> dict[str, Any]:
    return {
        **marks.of_axes(axes),
        "ticks": {"x": marks.categories(axes.xaxis), "y": marks.categories(axes.yaxis)},
        "period": str(getattr(getattr(axes, "freq", None), "freqstr", getattr(axes, "freq", None)) or "")[:20],
        "texts": _texts(axes),
    }


def _texts(axes: Any) -> list[str]:
    legend = axes.get_legend()
    entries = [text.get_text() for text in legend.get_texts()] if legend is not None else []
    return [str(text)[:_TEXT] for text in (axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *entries[:50])]
