"""Operations that compute statistics of columns, groups and windows, and running ones."""

from deskgym.task_suites.table_analysis.private.operations import Op

_ONE = "one value for a column; one per column or group for more"
_RUN = "a value for each row"
_COUNTED = "a value per distinct value or group"

OPERATIONS = (
    Op(".sum", "", "add_up total accumulate / amounts content figures", "Adds the values up, missing ones left out.",
       _ONE, ".mean .max .prod"),
    Op(".mean", "", "typical central usual / level amount magnitude", "Computes the arithmetic average, missing values"
       " left out.", _ONE, ".median .sum"),
    Op(".median", "", "typical central middle / level amount magnitude", "Computes the value in the middle of the"
       " ordered values, missing ones left out.", _ONE, ".mean"),
    Op(".min", "", "lowest bottom least / reading amount level", "Finds the smallest value.", _ONE, ".max"),
    Op(".max", "", "highest top greatest / reading amount level", "Finds the largest value.", _ONE, ".min"),
    Op(".std", "", "scatter spread wobble / of_values width extent", "Computes the standard deviation, with the"
       " divisor n - 1 unless told.", _ONE, ".var .sem"),
    Op(".var", "", "scatter spread wobble / squared second_order energy", "Computes the variance, with the divisor"
       " n - 1 unless told.", _ONE, ".std"),
    Op(".sem", "", "uncertainty error doubt / of_level about_centre margin", "Computes the standard error of the"
       " average.", _ONE, ".std"),
    Op(".prod", "", "multiply chain compound / through together factors", "Multiplies the values.", _ONE, ".sum"),
    Op(".count", "", "tally reckon number / known filled recorded", "Counts the values that are not missing.", _ONE,
       ".nunique .size()"),
    Op(".size()", "", "tally reckon number / members everything all_rows", "Counts the rows of each group, those with"
       " missing values included.", "one number per group", ".count", body="return {self}.size()"),
    Op(".nunique", "", "tally reckon number / kinds varieties different", "Counts the distinct values, missing ones"
       " left out.", _ONE, ".count"),
    Op(".unique", "", "list enumerate roster / kinds varieties distinct", "Lists the distinct values, in the order in"
       " which they first occur.", "an array of the values", ".value_counts"),
    Op(".value_counts", "", "tally census poll / kinds occurrences frequencies", "Counts how often each distinct value"
       " occurs, most frequent first.", _COUNTED, ".nunique"),
    Op(".quantile", "| q", "threshold cutoff rung / at_share at_level by_portion", "Computes the value below which a"
       " given share of the values lies.", _ONE, ".median"),
    Op(".mode", "", "commonest favourite prevalent / entry reading choice", "Finds the most frequent values.",
       "a column of them, smallest first", ".median"),
    Op(".skew", "", "lopsided slanted leaning / degree measure figure", "Computes the skewness of the values.", _ONE,
       ".kurt"),
    Op(".kurt", "", "peaked heavy_tailed steep / degree measure figure", "Computes the kurtosis of the values.", _ONE,
       ".skew"),
    Op(".describe", "", "profile portray outline / numbers content briefly", "Computes count, average, deviation,"
       " extremes and quartiles together.", "a table of these"),
    Op(".corr", "| other", "relate link tie / strength together pairs", "Computes the linear correlation coefficient,"
       " with a second column or between all columns.", "one number, or a table with a row and column for each"
       " column", ".cov"),
    Op(".cov", "| other", "relate link tie / jointly co_movement raw", "Computes the covariance, with a second column"
       " or between all columns.", "one number, or a table of them", ".corr"),
    Op(".corrwith", "other", "relate link tie / each_with to_reference against", "Computes the correlation of each"
       " column with another column.", "one number per column"),
    Op(".any", "", "some at_least_one anywhere / true holding present", "Tells whether at least one value is true.",
       _ONE, ".all"),
    Op(".all", "", "every entirely wholly / true holding present", "Tells whether all values are true.", _ONE,
       ".any"),
    Op(".idxmax", "", "locate whose where_is / peak summit highest", "Finds the row label of the largest value.",
       "the label; one per column or group", ".idxmin"),
    Op(".idxmin", "", "locate whose where_is / trough valley lowest", "Finds the row label of the smallest value.",
       "the label; one per column or group", ".idxmax"),
    Op(".argmax", "", "seat_of place_of rank_of / peak summit highest", "Finds the position, from 0, of the largest"
       " value.", "the position", ".argmin"),
    Op(".argmin", "", "seat_of place_of rank_of / trough valley lowest", "Finds the position, from 0, of the smallest"
       " value.", "the position", ".argmax"),
    Op(".first", "", "opening earliest initial / member known entry", "Takes the first value of each group that is"
       " not missing.", "a value per group", ".last"),
    Op(".last", "", "closing latest final / member known entry", "Takes the last value of each group that is not"
       " missing.", "a value per group", ".first"),
    Op(".nth", "n", "numbered seated placed / member of_pile of_bucket", "Takes the row at a position of each group,"
       " from 0.", "the rows"),
    Op(".cumsum", "", "running growing onward / tally total balance", "Adds the values up from the start to each"
       " row.", _RUN, ".cumprod .cummax"),
    Op(".cumprod", "", "running growing onward / compound factor growth", "Multiplies the values from the start to"
       " each row.", _RUN, ".cumsum"),
    Op(".cummax", "", "running record so_far / high peak_level ceiling", "Finds the largest value from the start to"
       " each row.", _RUN, ".cummin"),
    Op(".cummin", "", "running record so_far / low trough_level floor_level", "Finds the smallest value from the start"
       " to each row.", _RUN, ".cummax"),
    Op(".diff", "| periods", "step change gain / from_before against_last between_rows", "Computes the difference to"
       " the row before (or some rows before).", _RUN, ".pct_change"),
    Op(".pct_change", "| periods", "step growth gain / rate_over_last in_proportion ratio_to_last", "Computes the"
       " relative change to the row before, as a share.", _RUN, ".diff"),
    Op(".shift", "| periods", "delay lag slide / rows_by entries content", "Moves the values down by some rows (up"
       " for a negative number); the free places are missing.", _RUN, ".diff"),
    Op(".rank", "", "standing seat placing / among_all in_field of_each", "Gives each value its place in the order,"
       " from 1; equal ones share the average of their places unless told.", _RUN),
    Op(".autocorr", "| lag", "echo memory persistence / with_past strength over_time", "Computes the correlation of a"
       " column with itself some rows before.", "one number"),
    Op(".dot", "other", "weigh project cross / by_factors together onto", "Computes the sum of products with a second"
       " one.", "a number, column or table"),
    Op(".div", "other", "share portion ratio / of_other against over", "Divides by a second one, matched by labels.",
       "the quotients", ".mul"),
    Op(".mul", "other", "scale weigh multiply_out / by_other with against", "Multiplies by a second one, matched by"
       " labels.", "the products", ".div"),
    Op(".gt", "other", "beats above over / other rival limit", "Tells which values are greater than another.",
       "True or False for each value", ".ge .lt"),
    Op(".ge", "other", "reaches attains no_less / other rival limit", "Tells which values are greater than another"
       " or equal.", "True or False for each value", ".gt .le"),
    Op(".lt", "other", "below under beneath / other rival limit", "Tells which values are less than another.",
       "True or False for each value", ".le .gt"),
    Op(".le", "other", "at_most no_more capped / other rival limit", "Tells which values are less than another or"
       " equal.", "True or False for each value", ".lt .ge"),
    Op(".eq", "other", "same alike matches / other rival given", "Tells which values equal another.",
       "True or False for each value", ".ne"),
    Op(".ne", "other", "differs unlike apart / other rival given", "Tells which values differ from another.",
       "True or False for each value", ".eq"),
)  # fmt: skip
