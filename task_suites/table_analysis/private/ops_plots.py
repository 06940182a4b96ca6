"""Operations that draw: of matplotlib's pyplot, axes and figures, and of pandas."""

from deskgym.task_suites.table_analysis.private.operations import Op

_DRAWN = "what was drawn"
_NONE = "nothing that is needed"
_PANEL = "the drawing area"


def _both(name: str, signature: str, words: str, does: str, like: str = "") -> tuple[Op, Op]:
    """Something that is drawn in the same way on the current drawing area and on a given one."""
    current = " plt.".join(["", *like.split()]).strip()
    given = " axes.".join(["", *like.split()]).strip()
    return (
        Op(
            f"plt.{name}", signature, words, does[:-1] + " in the current drawing area.", _DRAWN, current, "", "", False
        ),
        Op(f"axes.{name}", signature, words, does, _DRAWN, given, "", "axes", False),
    )


def _named(name: str, signature: str, words: str, does: str, like: str = "") -> tuple[Op, Op]:
    """Something that pyplot calls ``name`` and axes ``set_name``."""
    current = " plt.".join(["", *like.split()]).strip()
    given = " axes.set_".join(["", *like.split()]).strip()
    return (
        Op(f"plt.{name}", signature, words, does[:-1] + " of the current drawing area.", _NONE, current, "", "", False),
        Op(f"axes.set_{name}", signature, words, does, _NONE, given, "", "axes", False),
    )


def _frame(name: str, signature: str, words: str, does: str, like: str = "") -> Op:
    return Op(f".{name}", signature, words, does, _PANEL, like, pure=False)


OPERATIONS = (
    Op("plt.subplots", "| nrows ncols", "open unroll lay / fresh_page blank_sheet easel", "Makes a figure with one"
       " drawing area or a grid of them.", "a pair: the figure, and the drawing area or an array of them",
       receiver="", pure=False),
    Op("plt.figure", "", "begin start unpack / fresh_page blank_sheet easel", "Makes an empty figure, which becomes"
       " the current one.", "the figure", receiver="", pure=False),
    Op("plt.gcf", "", "this_one present live / page sheet easel", "Gives the current figure.", "the figure", "plt.gca",
       receiver="", pure=False),
    Op("plt.gca", "", "this_one present live / panel surface canvas", "Gives the current drawing area.", _PANEL,
       "plt.gcf", receiver="", pure=False),
    Op("plt.subplot", "nrows ncols index", "turn_to pick visit / panel_of_grid cell_of_page surface", "Makes one of a"
       " grid of drawing areas the current one.", _PANEL, receiver="", pure=False),
    Op("plt.suptitle", "t", "crown banner headline / whole_page sheet easel", "Writes a heading over the whole current"
       " figure.", _NONE, receiver="", pure=False),
    Op("plt.tight_layout", "", "settle space_out neaten / page_now sheet_now easel", "Makes room between the parts of"
       " the current figure.", _NONE, receiver="", pure=False),
    Op("plt.colorbar", "mappable", "key_to decode_of scale_of / tints shades hues", "Draws the scale of the colours.",
       "the scale", receiver="", pure=False),
    *_both("plot", "| x y", "trace connect draw_path / dots_in_turn thread course", "Draws points joined by lines.",
           "scatter step"),
    *_both("step", "x y", "trace connect draw_path / as_stairs in_terraces by_ledges", "Draws points joined by stairs.",
           "plot"),
    *_both("scatter", "x y", "sprinkle dot strew / pairs marks specks", "Draws a mark for each pair of numbers.",
           "plot"),
    *_both("bar", "x height", "raise erect stand / columns_up pillars towers", "Draws upright bars of given heights.",
           "barh"),
    *_both("barh", "y width", "lay stretch_out rest / beams planks rods", "Draws lying bars of given lengths.", "bar"),
    *_both("hist", "x | bins", "heap mound stack_up / frequencies tallies occurrences", "Draws how many values fall"
           " into each of some intervals.", "boxplot"),
    *_both("boxplot", "x", "whisker quartile frame / summary_of spread_of fences", "Draws median, quartiles and"
           " outliers of columns of values.", "violinplot"),
    *_both("violinplot", "dataset", "shape_of contour frame / density_of body_of outline", "Draws the shapes of the"
           " distributions of columns of values.", "boxplot"),
    *_both("pie", "x", "slice_up disc wheel / shares portions parts", "Draws shares as sectors of a disc."),
    *_both("fill_between", "x y1 | y2", "shade flood tint / gap_of ribbon stripe", "Shades the area between two"
           " curves."),
    *_both("stackplot", "x", "layer pile strata / areas_of bodies_of flows", "Draws areas on top of each other."),
    *_both("errorbar", "x y", "tolerance doubt_of margin / whiskers tails limits_on", "Draws points with their"
           " uncertainties."),
    *_both("imshow", "X", "paint tint colour / matrix_cells grid_cells mosaic", "Draws an array as coloured cells.",
           "pcolormesh"),
    *_both("pcolormesh", "C", "paint tint colour / meshed_cells lattice tiles", "Draws an array as coloured tiles."),
    *_both("axhline", "| y", "rule level_off limit / across lying_mark flat_mark", "Draws a lying line from edge to"
           " edge.", "axvline"),
    *_both("axvline", "| x", "rule plumb limit / upright standing_mark steep_mark", "Draws an upright line from edge"
           " to edge.", "axhline"),
    *_both("legend", "", "explain decode key_to / symbols signs entries", "Draws the list of what the marks mean."),
    *_both("grid", "| visible", "mesh rule weave / backdrop background guides", "Draws lines behind the data."),
    *_both("text", "x y s", "write letter pen / at_spot on_spot remark", "Writes a text at a place."),
    *_both("annotate", "text xy", "write arrow point_out / remark_at note_at comment", "Writes a text about a"
           " place."),
    *_named("title", "label", "headline caption name / panel surface picture_of", "Writes the heading.",
            "xlabel ylabel"),
    *_named("xlabel", "xlabel", "word caption name / lower_edge flat_edge bottom_side", "Writes what the horizontal"
            " axis shows.", "ylabel title"),
    *_named("ylabel", "ylabel", "word caption name / left_edge steep_edge left_side", "Writes what the vertical axis"
            " shows.", "xlabel title"),
    *_named("xlim", "| left right", "bound crop frame / lower_edge flat_edge bottom_side", "Sets the range of the"
            " horizontal axis.", "ylim"),
    *_named("ylim", "| bottom top", "bound crop frame / left_edge steep_edge left_side", "Sets the range of the"
            " vertical axis.", "xlim"),
    *_named("xticks", "| ticks labels", "notch graduate mark / lower_edge flat_edge bottom_side", "Sets the marks of"
            " the horizontal axis.", "yticks"),
    *_named("yticks", "| ticks labels", "notch graduate mark / left_edge steep_edge left_side", "Sets the marks of the"
            " vertical axis.", "xticks"),
    *_named("xscale", "value", "warp stretch bend / lower_edge flat_edge bottom_side", "Sets how the horizontal axis"
            " is spaced, such as 'log'.", "yscale"),
    *_named("yscale", "value", "warp stretch bend / left_edge steep_edge left_side", "Sets how the vertical axis is"
            " spaced, such as 'log'.", "xscale"),
    Op("axes.set_xticklabels", "labels", "notch_words spell tag / lower_edge flat_edge bottom_side", "Writes the texts"
       " at the marks of the horizontal axis.", _NONE, "axes.set_yticklabels", receiver="axes", pure=False),
    Op("axes.set_yticklabels", "labels", "notch_words spell tag / left_edge steep_edge left_side", "Writes the texts at"
       " the marks of the vertical axis.", _NONE, "axes.set_xticklabels", receiver="axes", pure=False),
    Op("axes.tick_params", "| axis", "dress style adjust / notches graduations edge_marks", "Sets how the marks of the"
       " axes look.", _NONE, receiver="axes", pure=False),
    Op("axes.invert_yaxis", "", "upend overturn capsize / left_edge steep_edge upright", "Turns the vertical axis"
       " upside down.", _NONE, "axes.invert_xaxis", receiver="axes", pure=False),
    Op("axes.invert_xaxis", "", "upend overturn capsize / lower_edge flat_edge sideways", "Turns the horizontal axis"
       " around.", _NONE, "axes.invert_yaxis", receiver="axes", pure=False),
    Op("axes.twinx", "", "second double companion / left_scale surface_over panel_over", "Makes a second drawing area"
       " over the first, with a vertical axis of its own.", _PANEL, receiver="axes", pure=False),
    Op("fig.suptitle", "t", "crown banner headline / page_of sheet_of easel_of", "Writes a heading over the figure.",
       _NONE, receiver="fig", pure=False),
    Op("fig.tight_layout", "", "settle space_out neaten / page_of sheet_of easel_of", "Makes room between the parts of"
       " the figure.", _NONE, receiver="fig", pure=False),
    Op("fig.autofmt_xdate", "", "tilt slant incline / moment_marks calendar_marks notches", "Writes the dates at the"
       " horizontal axis aslant.", _NONE, receiver="fig", pure=False),
    Op("fig.add_subplot", "| nrows ncols index", "add attach insert / panel_to surface_to canvas_to", "Adds a drawing"
       " area to the figure.", _PANEL, receiver="fig", pure=False),
    Op("fig.colorbar", "mappable", "key_on decode_on scale_on / tints shades hues", "Draws the scale of the colours.",
       "the scale", receiver="fig", pure=False),
    _frame("plot", "", "picture sketch show / content figures sheet", "Draws the columns against the row labels, as"
           " lines unless told.", ".plot.area"),
    _frame("plot.bar", "", "picture sketch show / as_pillars towers columns_up", "Draws an upright bar for each row.",
           ".plot.barh"),
    _frame("plot.barh", "", "picture sketch show / as_beams planks rods", "Draws a lying bar for each row.",
           ".plot.bar"),
    _frame("plot.line", "", "picture sketch show / as_threads paths courses", "Draws the columns as lines against the"
           " row labels.", ".plot.area"),
    _frame("plot.area", "", "picture sketch show / as_layers strata bodies", "Draws the columns as areas on top of each"
           " other.", ".plot.line"),
    _frame("plot.scatter", "x y", "picture sketch show / as_specks dots pairs", "Draws a mark for each row, from two"
           " columns.", ".plot.line"),
    _frame("plot.hist", "", "picture sketch show / as_heaps mounds frequencies", "Draws how many values fall into each"
           " of some intervals.", ".plot.box"),
    _frame("plot.box", "", "picture sketch show / as_fences quartiles whiskers", "Draws median, quartiles and outliers"
           " of the columns.", ".plot.hist"),
    _frame("plot.pie", "", "picture sketch show / as_disc sectors wheel", "Draws the values as sectors of a disc."),
    _frame("hist", "| column", "heap mound stack_up / fields_of lanes_of strands_of", "Draws, for each column, how many"
           " values fall into each of some intervals.", ".boxplot"),
    _frame("boxplot", "| column by", "whisker quartile fence / fields_of lanes_of strands_of", "Draws median, quartiles"
           " and outliers of the columns.", ".hist"),
)  # fmt: skip
