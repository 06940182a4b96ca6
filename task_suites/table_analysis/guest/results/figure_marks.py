"""The marks in one matplotlib Axes as plain data; ``figure_data.drawn`` says what of each kind."""

from __future__ import annotations

from typing import Any

KINDS = ("lines", "points", "bars", "areas", "wedges", "images", "rules")
"""Of marks."""
COLOURS = 20
"""A scatter plot of more colours shows a scale, not groups."""


def of_axes(axes: Any) -> dict[str, list[Any]]:
    """The visible marks of each kind."""
    found: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for line in filter(_visible, axes.lines):
        _line(found, line, axes)
    grouped = _bars(found, axes)
    for patch in filter(_visible, axes.patches):
        if id(patch) not in grouped:
            _patch(found, patch, axes)
    for collection in filter(_visible, axes.collections):
        _collection(found, collection)
    for image in filter(_visible, axes.images):
        _image(found, image.get_array())
    return found


def artists(axes: Any) -> list[Any]:
    """What draws the marks: all that is placed by data alone."""
    found = [*axes.lines, *axes.patches, *axes.collections, *axes.images]
    return [
        artist for artist in found if any(all(t.contains_branch_seperately(axes.transData)) for t in _placing(artist))
    ]


def _placing(artist: Any) -> list[Any]:
    """The transforms that say where an artist is."""
    more = [artist.get_offset_transform()] if hasattr(artist, "get_offset_transform") else []
    return [artist.get_transform(), *more]


def categories(axis: Any) -> tuple[Any, list[str]] | None:
    """Positions and labels of an axis of categories, or None for an axis of numbers.

    Categories are labels that were given by hand or by pandas to positions one apart, other than the positions
    themselves; and the strings that matplotlib was given as data.
    """
    import numpy as np
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter

    formatter, locator = axis.get_major_formatter(), axis.get_major_locator()
    named = isinstance(formatter, StrCategoryFormatter)
    if not named and not (isinstance(formatter, (FixedFormatter, FuncFormatter)) and isinstance(locator, FixedLocator)):
        return None
    positions = np.asarray(axis.get_majorticklocs(), dtype=float)
    labels = [str(label).strip() for label in formatter.format_ticks(positions)]
    filled = [place for place, label in enumerate(labels) if label]
    positions, labels = positions[filled], [labels[place] for place in filled]
    if not filled or (not named and not np.allclose(np.diff(positions), 1)):
        return None
    same = [_number(label) == position for label, position in zip(labels, positions, strict=True)]
    return None if all(same) and not named else (positions, labels)


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None


def _visible(artist: Any) -> bool:
    return bool(artist.get_visible())


def _column(values: Any) -> Any:
    import numpy as np

    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()


def _path(x: Any, y: Any) -> tuple[Any, Any] | None:
    """Where both coordinates are finite; None when that is nowhere."""
    import numpy as np

    x, y = np.broadcast_arrays(_column(x), _column(y))
    finite = np.isfinite(x) & np.isfinite(y)
    return (x[finite], y[finite]) if finite.any() else None


def _add(found: dict[str, list[Any]], kind: str, x: Any, y: Any) -> None:
    path = _path(x, y)
    if path is not None:
        found[kind].append(path)


def _line(found: dict[str, list[Any]], line: Any, axes: Any) -> None:
    on_x, on_y = line.get_transform().contains_branch_seperately(axes.transData)
    drawn_line = line.get_linestyle() not in ("None", "none", " ", "")
    drawn_marks = line.get_marker() not in ("None", "none", " ", "", None)
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    if on_x and on_y and hasattr(line, "_slope"):
        return
    if on_x and on_y and (drawn_line or drawn_marks):
        _add(found, "lines" if drawn_line else "points", x, y)
    elif (on_x or on_y) and drawn_line:
        position = _column(x if on_x else y)
        if len(position) and (position == position[0]).all():
            found["rules"].append(("x" if on_x else "y", float(position[0])))


def _bars(found: dict[str, list[Any]], axes: Any) -> set[int]:
    """Add the bars of each call of ``bar`` or ``hist``; gives the ids of their patches."""
    from matplotlib.container import BarContainer

    seen: set[int] = set()
    for container in axes.containers:
        if isinstance(container, BarContainer):
            seen.update(map(id, container.patches))
            along = "y" if container.orientation == "horizontal" else "x"
            _series(found, along, [_bar(patch, along) for patch in container.patches if _visible(patch)])
    return seen


def _bar(patch: Any, along: str) -> tuple[float, float, float]:
    x, y, width, height = patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()
    if along == "y":
        x, y, width, height = y, x, height, width
    return x + width / 2, min(y, y + height), max(y, y + height)


def _series(found: dict[str, list[Any]], along: str, bars: list[tuple[float, float, float]]) -> None:
    """Add the bars that can be seen: those of no length cannot."""
    import numpy as np

    table = np.asarray(bars, dtype=float).reshape(-1, 3)
    table = table[np.isfinite(table).all(axis=1) & (table[:, 1] != table[:, 2])]
    if len(table):
        found["bars"].append((along, *(table[:, place].copy() for place in range(3))))


def _patch(found: dict[str, list[Any]], patch: Any, axes: Any) -> None:
    from matplotlib.patches import PathPatch, StepPatch, Wedge

    if isinstance(patch, Wedge):
        share = float(patch.theta2 - patch.theta1) / 360
        if share:
            label = str(patch.get_label())
            found["wedges"].append(("" if label.startswith("_") else label, share))
        return
    if not all(patch.get_data_transform().contains_branch_seperately(axes.transData)):
        return
    to_data = patch.get_patch_transform()
    kind = "lines" if isinstance(patch, PathPatch) and not isinstance(patch, StepPatch) else "areas"
    for outline in patch.get_path().transformed(to_data).to_polygons(closed_only=False):
        _add(found, kind, outline[:, 0], outline[:, 1])


def _collection(found: dict[str, list[Any]], collection: Any) -> None:
    from matplotlib.collections import PathCollection, QuadMesh

    if isinstance(collection, QuadMesh):
        _image(found, collection.get_array())
    elif isinstance(collection, PathCollection):
        _points(found, collection)
    else:
        shift = _column(collection.get_offsets()).reshape(-1, 2)
        paths = collection.get_paths()
        if len(shift) > 1 or (len(shift) == 1 and shift.any()):
            _add(found, "points", shift[:, 0], shift[:, 1])
            return
        for path in paths:
            if len(path.vertices):
                _add(found, "areas", path.vertices[:, 0], path.vertices[:, 1])


def _points(found: dict[str, list[Any]], collection: Any) -> None:
    import numpy as np

    offsets: Any = np.ma.filled(np.ma.asarray(collection.get_offsets(), dtype=float), np.nan).reshape(-1, 2)
    colours = np.asarray(collection.get_facecolors())
    if len(colours) != len(offsets):
        colours = np.zeros((len(offsets), 4))
    names, groups = np.unique(colours, axis=0, return_inverse=True)
    if len(names) > COLOURS:
        names, groups = names[:1], np.zeros(len(offsets), int)
    for group in range(len(names)):
        chosen = offsets[groups.ravel() == group]
        _add(found, "points", chosen[:, 0], chosen[:, 1])


def _image(found: dict[str, list[Any]], values: Any) -> None:
    import numpy as np

    if values is not None and np.size(values):
        found["images"].append(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))
