"""Operations of numpy and of scipy's statistics."""

from deskgym.task_suites.table_analysis.private.operations import Op

_ARRAY = "an array, or a column if one is given"
_ONE = "one number, or an array of them along an axis"


def _numpy(name: str, signature: str, words: str, does: str, returns: str = _ARRAY, like: str = "") -> Op:
    return Op(f"np.{name}", signature, words, does, returns, like, receiver="")


def _scipy(name: str, signature: str, words: str, does: str, returns: str, like: str = "") -> Op:
    return Op(f"scipy.stats.{name}", signature, words, does, returns, like, receiver="")


OPERATIONS = (
    _numpy("where", "condition x y", "either choose settle / by_test one_or_other per_entry", "Takes one value where a"
           " condition is true and another where it is not."),
    _numpy("select", "condlist choicelist | default", "first_true decide route / of_tests by_cases per_entry", "Takes"
           " for each place the choice of the first condition that is true there."),
    _numpy("mean", "a | axis", "typical central usual / figure of_numbers height", "Computes the arithmetic average.",
           _ONE, "np.median np.sum"),
    _numpy("median", "a | axis", "typical central middle / figure of_numbers height", "Computes the value in the"
           " middle of the ordered values.", _ONE, "np.mean"),
    _numpy("average", "a", "weighted balanced fair / figure of_numbers height", "Computes the average, weighted if"
           " weights are given.", _ONE, "np.median"),
    _numpy("sum", "a | axis", "add_up total amass / numbers figures array_of", "Adds the values up.", _ONE,
           "np.prod np.mean"),
    _numpy("prod", "a | axis", "multiply chain compound / numbers figures array_of", "Multiplies the values.", _ONE,
           "np.sum"),
    _numpy("min", "a | axis", "lowest bottom least / figure of_numbers one", "Finds the smallest value.", _ONE,
           "np.max"),
    _numpy("max", "a | axis", "highest top greatest / figure of_numbers one", "Finds the largest value.", _ONE,
           "np.min"),
    _numpy("std", "a | axis", "scatter spread wobble / of_numbers figure_width extent", "Computes the standard"
           " deviation, with the divisor n unless told.", _ONE, "np.var"),
    _numpy("var", "a | axis", "scatter spread wobble / squared_numbers second_power energy", "Computes the variance,"
           " with the divisor n unless told.", _ONE, "np.std"),
    _numpy("percentile", "a q", "threshold cutoff rung / of_hundred at_percent by_hundredth", "Computes the value"
           " below which a given percentage (0 to 100) lies.", _ONE, "np.quantile"),
    _numpy("quantile", "a q", "threshold cutoff rung / of_one at_share by_portion", "Computes the value below which a"
           " given share (0 to 1) lies.", _ONE, "np.percentile"),
    _numpy("sqrt", "x", "unsquare halve_power base / numbers figures amounts", "Computes the square root.",
           like="np.square np.log"),
    _numpy("square", "x", "self_multiply double_power raise / numbers figures amounts", "Multiplies each value by"
           " itself.", like="np.sqrt"),
    _numpy("log", "x", "flatten scale tame / naturally numbers growth", "Computes the natural logarithm.",
           like="np.log10 np.log1p np.log2"),
    _numpy("log10", "x", "flatten scale tame / by_tens decades orders", "Computes the logarithm to base 10.",
           like="np.log np.log2"),
    _numpy("log2", "x", "flatten scale tame / by_twos doublings octaves", "Computes the logarithm to base 2.",
           like="np.log np.log10"),
    _numpy("log1p", "x", "flatten scale tame / shifted from_one safely", "Computes the natural logarithm of 1 plus the"
           " value.", like="np.log"),
    _numpy("exp", "x", "unflatten grow inflate / naturally numbers growth", "Raises e to the value.",
           like="np.expm1"),
    _numpy("expm1", "x", "unflatten grow inflate / shifted less_one safely", "Raises e to the value and takes 1 off.",
           like="np.exp"),
    _numpy("abs", "x", "unsign strip_sign size / figures number_of magnitude_of", "Takes the sign off numbers.",
           like="np.sign"),
    _numpy("sign", "x", "direction orientation polarity / figures number_of tendency", "Gives -1, 0 or 1 by the sign.",
           like="np.abs"),
    _numpy("round", "a | decimals", "tidy shorten coarsen / figures_to number_to precision_of", "Brings numbers to the"
           " nearest with a given number of decimals.", like="np.floor"),
    _numpy("floor", "x", "lower ground settle / whole_number figures step_below", "Gives the next whole number below.",
           like="np.ceil"),
    _numpy("ceil", "x", "lift raise top / whole_number figures step_above", "Gives the next whole number above.",
           like="np.floor"),
    _numpy("clip", "a a_min a_max", "bound limit confine / figures numbers extremes_of", "Replaces values beyond a"
           " bound by the bound."),
    _numpy("maximum", "x1 x2", "greater taller bigger / of_two pairwise between", "Takes the larger of two values,"
           " place by place.", like="np.minimum"),
    _numpy("minimum", "x1 x2", "lesser shorter smaller / of_two pairwise between", "Takes the smaller of two values,"
           " place by place.", like="np.maximum"),
    _numpy("power", "x1 x2", "raise lift exalt / to_degree to_order up_by", "Raises values to a power."),
    _numpy("arange", "start | stop step", "count_off ladder stairs / numbers figures by_step", "Makes numbers at a"
           " fixed step, the end not included.", "an array", "np.linspace"),
    _numpy("linspace", "start stop | num", "spread lay_out mesh / points numbers evenly", "Makes a given number of"
           " equally distant numbers, the end included.", "an array"),
    _numpy("array", "object", "pack gather hold / numbers figures block_of", "Makes an array.", "an array"),
    _numpy("asarray", "a", "view regard treat / as_block_of numbers_of raw", "Makes an array, of the same memory where"
           " possible.", "an array"),
    _numpy("zeros", "shape", "blank fresh clean / noughts block_of_none array_of_nil", "Makes an array of zeros.",
           "an array", "np.ones"),
    _numpy("ones", "shape", "unit fresh clean / units block_of_one array_of_one", "Makes an array of ones.",
           "an array", "np.zeros"),
    _numpy("full", "shape fill_value", "fresh constant level / block array_of plate", "Makes an array of one value.",
           "an array"),
    _numpy("repeat", "a repeats", "echo multiply again / each_entry in_place items", "Repeats each value some times in"
           " succession.", "an array", "np.tile"),
    _numpy("tile", "A reps", "echo multiply again / whole_block over_all sequence", "Repeats the whole array some"
           " times.", "an array", "np.repeat"),
    _numpy("concatenate", "arrays", "chain append pile / numbers_of blocks_of arrays_of", "Puts arrays one after"
           " another.", "an array"),
    _numpy("column_stack", "tup", "bind set group_up / side_by_side lanes_of strands_of", "Puts arrays side by side as"
           " columns.", "an array of two dimensions", "np.vstack"),
    _numpy("vstack", "tup", "bind set group_up / on_top lines_of records_of", "Puts arrays on top of each other as"
           " rows.", "an array of two dimensions", "np.column_stack"),
    _numpy("unique", "ar", "list enumerate roster / numbers_in distinct_in kinds_in", "Lists the distinct values,"
           " smallest first.", "an array of the values"),
    _numpy("sort", "a", "arrange line_up order / numbers_of figures_of upward", "Puts the values in rising order.",
           "an array", "np.argsort"),
    _numpy("argsort", "a", "seats_for places_for route_to / order rising upward", "Gives the positions that would put"
           " the values in rising order.", "an array of positions", "np.sort"),
    _numpy("argmax", "a", "seat_of place_of spot_of / tallest largest_one peak_in", "Finds the position of the largest"
           " value.", "the position", "np.argmin"),
    _numpy("argmin", "a", "seat_of place_of spot_of / smallest least_one trough_in", "Finds the position of the"
           " smallest value.", "the position", "np.argmax"),
    _numpy("cumsum", "a", "running growing onward / numbers_of figures_of sums_of", "Adds the values up from the start"
           " to each place.", like="np.cumprod"),
    _numpy("cumprod", "a", "running growing onward / factors_of products_of compound_of", "Multiplies the values from"
           " the start to each place.", like="np.cumsum"),
    _numpy("diff", "a", "steps changes gains / among_numbers in_array between_places", "Computes the differences"
           " between neighbours; the result is one shorter.", like="np.cumsum"),
    _numpy("isnan", "x", "is blank hollow / figure number_or_not reading", "Tells which numbers are missing (nan).",
           "True or False for each number"),
    _numpy("isfinite", "x", "is sound proper / figure number_or_inf reading", "Tells which numbers are neither missing"
           " nor infinite.", "True or False for each number", "np.isnan"),
    _numpy("corrcoef", "x | y", "relate link tie / number_pairs arrays_of figures_of", "Computes correlation"
           " coefficients.", "a square array", "np.cov"),
    _numpy("cov", "m | y", "relate link tie / raw_pairs co_moves jointly_of", "Computes covariances.",
           "a square array", "np.corrcoef"),
    _numpy("polyfit", "x y deg", "fit trace bend / curve_through trend_through powers_through", "Fits a polynomial of"
           " a degree by least squares.", "the coefficients, highest power first"),
    _numpy("polyval", "p x", "follow read compute_on / curve_at trend_at powers_at", "Computes a polynomial, given by"
           " its coefficients, highest power first.", "its values"),
    _numpy("interp", "x xp fp", "bridge look_between read / points_of knots_of line_of", "Computes values on the lines"
           " between given points.", _ARRAY),
    _numpy("dot", "a b", "weigh project cross / arrays_with numbers_with both", "Computes the sum of products.",
           "a number or an array", "np.outer"),
    _numpy("outer", "a b", "grid cross pair / products_of all_pairs both_ways", "Multiplies each value of one with"
           " each of the other.", "an array of two dimensions", "np.dot"),
    _numpy("linalg.norm", "x", "extent reach magnitude / of_vector of_arrow of_direction", "Computes the length of a"
           " vector.", "a number"),
    _numpy("histogram", "a | bins", "tally census poll / by_ranges in_bands per_slot", "Counts the values in"
           " intervals, equally wide ones unless edges are given.", "a pair: the counts, and the edges"),
    _numpy("random.default_rng", "| seed", "open start seed_up / chance_source dice lottery", "Makes a source of"
           " random numbers.", "the source"),
    _scipy("linregress", "x y", "straight trace slope / line_through trend_through relation", "Fits a straight line by"
           " least squares.", "an object with slope, intercept, rvalue, pvalue and stderr"),
    _scipy("pearsonr", "x y", "relate link tie / straight_strength linear_bond two_lanes", "Computes the linear"
           " correlation and its p-value.", "a pair: coefficient, p-value", "scipy.stats.spearmanr"),
    _scipy("spearmanr", "a b", "relate link tie / ordered_strength rank_bond standings", "Computes the rank"
           " correlation and its p-value.", "a pair: coefficient, p-value", "scipy.stats.pearsonr"),
    _scipy("ttest_ind", "a b", "contrast compare weigh / two_levels two_crowds averages", "Tests whether two"
           " independent samples have the same average.", "a pair: statistic, p-value", "scipy.stats.mannwhitneyu"),
    _scipy("mannwhitneyu", "x y", "contrast compare weigh / two_orders two_standings ranks_of", "Tests by ranks"
           " whether two samples come from one distribution.", "a pair: statistic, p-value",
           "scipy.stats.ttest_ind"),
    _scipy("chi2_contingency", "observed", "examine check test / independence cross_table ties", "Tests whether two"
           " categories of a table of counts are independent.", "statistic, p-value, degrees of freedom, expected"
           " counts"),
    _scipy("f_oneway", "sample...", "contrast compare weigh / several_levels crowds many_averages", "Tests whether"
           " several samples have the same average.", "a pair: statistic, p-value"),
    _scipy("zscore", "a", "standing relative scaled / in_deviations offset position", "Gives values as distances from"
           " the average in standard deviations.", "the distances"),
)  # fmt: skip
