"""Operations on tables: selecting, changing, joining, grouping and reshaping them."""

from deskgym.task_suites.table_analysis.private.operations import Op

_TABLE = "a new table"
_SAME = "a new table or column of the same kind"
_GROUPS = "the groups, on which a statistic is then computed"
_MASK = "True or False for each value"
_WINDOWS = "the windows, on which a statistic is then computed"

OPERATIONS = (
    Op("[]column", "key", "take lift fetch pull / field strand lane", "Takes one column out of a table, or out of"
       " each group, by its name; of a dict the value under that key.", "the column", body="return {self}[{key}]"),
    Op("[]columns", "keys", "narrow restrict reduce limit / to_fields to_lanes to_strands", "Keeps only the named"
       " columns, in the order given.", _TABLE, body="return {self}[{keys}]"),
    Op("[]rows", "condition", "retain hold admit screen / matching fitting passing", "Keeps the rows for which a"
       " condition is true.", _SAME, body="return {self}[{condition}]"),
    Op("[]=", "value key", "write store place attach / field strand lane", "Writes a column into the table itself:"
       " a new one, or over the one of that name.", "nothing; the table is changed", body="{self}[{key}] = {value}",
       pure=False),
    Op(".loc[]", "rows", "look_up address reach / entry record member", "Takes the rows with a label, with labels of a"
       " list, or for which a condition is true.", "the rows, or one row or value for a single label",
       body="return {self}.loc[{rows}]"),
    Op(".loc[,]", "rows columns", "cut_out crop carve / patch cell_block region", "Takes the rows with given labels or"
       " for which a condition is true, and of these the given columns.", "the part of the table; one column if one"
       " column name is given", body="return {self}.loc[{rows}, {columns}]"),
    Op(".loc[:,]", "columns", "slim shrink trim / to_lanes to_strips to_fields", "Takes columns by their names, with"
       " all rows.", "the columns", body="return {self}.loc[:, {columns}]"),
    Op(".iloc[]", "position", "pick point_at seat / nth_record by_place by_seat", "Takes rows by position, counted"
       " from 0; negative positions count from the end.", "one row or value, or several for a list",
       body="return {self}.iloc[{position}]"),
    Op(".iloc[,]", "rows columns", "probe touch point_at / cell_by_seat by_seats by_places", "Takes what stands at"
       " given positions of rows and columns, both counted from 0.", "one value, or a part of the table for lists",
       body="return {self}.iloc[{rows}, {columns}]"),
    Op(".iloc[a:]", "start", "skip pass leave_out / opening leading_part front", "Takes the rows from a position"
       " on, counted from 0.", _SAME, ".iloc[:b]", body="return {self}.iloc[{start}:]"),
    Op(".iloc[:b]", "stop", "stop end break_off / before_place at_mark early", "Takes the rows up to a position,"
       " counted from 0 and itself not included.", _SAME, ".iloc[a:]", body="return {self}.iloc[:{stop}]"),
    Op(".iloc[a:b]", "start stop", "span bracket excerpt / of_places stretch passage", "Takes the rows between two"
       " positions, counted from 0, the second not included.", _SAME, body="return {self}.iloc[{start}:{stop}]"),
    Op(".at[,]", "rows columns", "read peek consult / single_cell one_spot crossing", "Takes the single value in a row"
       " and a column, both by label.", "the value", body="return {self}.at[{rows}, {columns}]"),
    Op(".loc[,]=", "value rows columns", "overwrite patch amend / cells spots places", "Writes into the given rows (by"
       " label or condition) and columns of the table itself.", "nothing; the table is changed",
       body="{self}.loc[{rows}, {columns}] = {value}", pure=False),
    Op(".head", "| n", "keep show lead / opening front start", "Keeps the first rows (five unless told).", _SAME,
       ".tail"),
    Op(".tail", "| n", "keep show trail / closing rear finish", "Keeps the last rows (five unless told).", _SAME,
       ".head"),
    Op(".sample", "| n", "draw raffle poll / lots handful at_chance", "Draws rows by chance.", _SAME, pure=False),
    Op(".query", "expr", "screen vet admit / by_phrase by_wording by_rule", "Keeps the rows for which a condition,"
       " written as a text over column names, is true.", _TABLE),
    Op(".filter", "| items", "choose elect name / fields lanes strands", "Keeps columns by their names or a part of"
       " them; of groups, those for which a function is true.", _TABLE),
    Op(".drop", "| labels", "discard shed remove / parts fields members", "Leaves out columns or rows by their labels.",
       _SAME),
    Op(".drop_duplicates", "| subset", "thin weed prune / repeats twins copies", "Leaves out rows that repeat an"
       " earlier one.", _SAME, ".duplicated"),
    Op(".duplicated", "| subset", "spot flag reveal / repeats twins copies", "Marks the rows that repeat an earlier"
       " one.", _MASK),
    Op(".dropna", "", "clear purge sweep / gaps holes blanks", "Leaves out rows that have missing values.", _SAME),
    Op(".fillna", "value", "plug patch close / gaps holes blanks", "Puts a given value in place of missing ones.",
       _SAME, ".ffill .bfill"),
    Op(".ffill", "", "carry roll drag / onward down_holes downward", "Puts the last value before it in place of a"
       " missing one.", _SAME, ".bfill"),
    Op(".bfill", "", "carry roll drag / backward up_holes upward", "Puts the next value after it in place of a missing"
       " one.", _SAME, ".ffill"),
    Op(".interpolate", "| method", "bridge smooth_over stitch / gaps holes blanks", "Puts values on the line between"
       " their neighbours in place of missing ones.", _SAME, ".ffill"),
    Op(".nlargest", "n | columns", "crown keep favour / leaders heaviest highest", "Keeps the rows with the largest"
       " values, largest first.", _SAME, ".nsmallest"),
    Op(".nsmallest", "n | columns", "crown keep favour / stragglers lightest lowest", "Keeps the rows with the"
       " smallest values, smallest first.", _SAME, ".nlargest"),
    Op(".sort_values", "| by", "arrange line_up order queue / by_size rows_up in_turn", "Puts the rows in the order of"
       " their values, smallest first unless told.", _SAME, ".sort_index"),
    Op(".sort_index", "", "arrange line_up order / by_label labels_up in_file", "Puts the rows in the order of their"
       " labels, smallest first unless told.", _SAME, ".sort_values"),
    Op(".set_index", "keys", "key tag anchor / rows_on with_field to_label", "Makes columns the labels of the rows.",
       _TABLE),
    Op(".reset_index", "", "renumber flatten free / labels rows key_out", "Turns the row labels into ordinary columns"
       " and numbers the rows from 0.", _TABLE),
    Op(".reindex", "| labels", "conform align fit / to_labels to_roster to_list", "Brings the rows (or columns) to"
       " given labels in a given order; labels without a row get missing values.", _SAME),
    Op(".rename", "| index", "relabel retitle call / fields parts headings", "Gives columns or rows other names.",
       _SAME),
    Op(".rename_axis", "| mapper", "title head caption / labels rows_key edge", "Gives the row labels a name.", _SAME),
    Op(".set_axis", "labels", "impose force assign_all / labels headings titles", "Replaces all labels at once.",
       _SAME),
    Op(".add_prefix", "prefix", "stamp mark head / headings fields front", "Puts a text before every column name.",
       _SAME, ".add_suffix"),
    Op(".add_suffix", "suffix", "stamp mark tail / headings fields rear", "Puts a text after every column name.",
       _SAME, ".add_prefix"),
    Op(".copy", "", "clone twin mirror / safely whole_thing apart", "Makes an independent second one with the same"
       " content.", "the second one"),
    Op(".assign", "**new", "extend enrich widen / with_fields by_lanes content", "Makes a table with further or"
       " replaced columns.", _TABLE),
    Op(".insert", "loc column value", "wedge slot squeeze_in / field lane strand", "Writes a new column into the table"
       " itself, at a position.", "nothing; the table is changed", pure=False),
    Op(".pop", "item", "extract detach withdraw / field lane strand", "Takes a column out of the table, which loses"
       " it.", "the column", pure=False),
    Op(".merge", "right | how on left_on right_on", "combine match unite / by_key on_fields records", "Combines two"
       " tables: rows that agree in their keys become one row; rows without a match are left out unless told.",
       _TABLE),
    Op(".join", "other | on how", "combine match unite / by_label sideways alongside", "Puts the columns of a second"
       " table beside those of the first, by row labels; every row of the first is kept unless told.", _TABLE),
    Op(".combine_first", "other", "complete back_up supplement / from_spare with_second by_reserve", "Takes missing"
       " values from a second table or column.", _SAME),
    Op(".groupby", "| by level", "split divide part separate / into_buckets by_kind into_piles", "Splits the rows into"
       " groups of equal keys.", _GROUPS),
    Op(".agg", "| func **outputs", "condense boil_down sum_up / pieces content parts", "Computes statistics, named by"
       " texts such as 'mean' or given as functions.", "one row per group, or per statistic if there are no groups"),
    Op(".get_group", "name", "open single_out fetch / bucket pile one_kind", "Takes the rows of one group.", _TABLE),
    Op(".cumcount", "", "enumerate serialise tick / within_kind members in_pile", "Numbers the rows of each group"
       " from 0.", "a number for each row", ".ngroup"),
    Op(".ngroup", "", "enumerate serialise tick / kinds piles buckets", "Numbers the groups from 0 and gives each row"
       " the number of its group.", "a number for each row", ".cumcount"),
    Op(".pivot", "", "spread cross unfold / to_grid to_matrix wide", "Spreads a long table: one row per key, one column"
       " per value of another column.", _TABLE),
    Op(".pivot_table", "| values index columns aggfunc", "cross tabulate grid / summary by_two_keys statistics",
       "Spreads a table into a grid of statistics: one row per key, one column per value of another column (the mean"
       " unless told).", _TABLE),
    Op(".melt", "| id_vars value_vars", "lengthen unspread gather / fields to_long lanes", "Gathers columns into two:"
       " one with their names, one with their values.", _TABLE),
    Op(".stack", "", "fold pile_up nest / fields_down lanes_in inward", "Turns the column names into an inner level of"
       " row labels.", _SAME, ".unstack"),
    Op(".unstack", "| level fill_value", "unfold lay_out spread / labels_out level_wide outward", "Turns a level of"
       " the row labels (the innermost unless told) into columns.", _TABLE, ".stack"),
    Op(".transpose", "", "flip swap rotate / sides edges grid", "Exchanges rows and columns.", _TABLE),
    Op(".explode", "column", "unpack scatter unroll / nested lists_down cells", "Gives each item of a list in a cell"
       " its own row.", _TABLE),
    Op(".rolling", "window", "slide glide move / window frame_over span", "Looks at every run of a given number of"
       " successive rows, each ending at a row.", _WINDOWS, ".expanding"),
    Op(".expanding", "| min_periods", "grow widen swell / window frame_over span", "Looks at all rows up to each row.",
       _WINDOWS, ".rolling"),
    Op(".ewm", "| com span", "fade discount decay / memory past history", "Looks at all rows up to each row, older"
       " ones with exponentially less weight.", _WINDOWS),
    Op(".resample", "rule", "bucket regrid bin_up / by_period by_calendar times", "Splits rows that are labelled by"
       " dates into periods of equal length.", _GROUPS),
    Op(".apply", "func", "run perform process / step_over routine recipe", "Calls a function on each value, column,"
       " row or group.", "the results together"),
    Op(".map", "func", "translate convert swap / each entry one_by_one", "Replaces each value by what a dict, a column"
       " or a function gives for it; what a dict does not have becomes missing.", _SAME),
    Op(".transform", "func", "spread_back broadcast return / per_kind to_members level", "Computes a statistic or"
       " function per group and gives it to every row of the group.", "a value for each row", ".agg"),
    Op(".pipe", "func", "hand pass forward / along onward over", "Calls a function on the whole table.",
       "what the function gives"),
    Op(".where", "cond | other", "keep_if guard spare / else_swap holding true_ones", "Keeps values where a condition"
       " is true and replaces the others, by missing ones unless told.", _SAME, ".mask"),
    Op(".mask", "cond | other", "swap_if hide cover / where_true holding marked", "Replaces values where a condition"
       " is true, by missing ones unless told, and keeps the others.", _SAME, ".where"),
    Op(".replace", "to_replace | value", "exchange substitute recode / entries codes wording", "Puts values in place"
       " of given ones.", _SAME),
    Op(".isin", "values", "belongs found listed / among roster within", "Tells which values occur in a list.", _MASK),
    Op(".between", "left right | inclusive", "falls lies sits / within_bounds inside_limits in_band", "Tells which"
       " values lie from one bound to another, both included unless told.", _MASK),
    Op(".isna", "", "blank hollow absent / spots flags places", "Tells which values are missing.", _MASK, ".notna"),
    Op(".notna", "", "present filled known / spots flags places", "Tells which values are not missing.", _MASK,
       ".isna"),
    Op(".astype", "dtype", "cast recast coerce / kind form representation", "Turns the values into another data type.",
       _SAME),
    Op(".clip", "| lower upper", "bound limit confine / extremes range_of reach", "Replaces values beyond a bound by"
       " the bound.", _SAME),
    Op(".round", "| decimals", "tidy shorten coarsen / digits figures precision", "Brings numbers to the nearest with a"
       " given number of decimals.", _SAME),
    Op(".abs", "", "unsign strip_sign size / amounts numbers magnitude", "Takes the sign off numbers.", _SAME),
    Op(".select_dtypes", "| include exclude", "choose pick limit / by_kind field_kinds by_nature", "Keeps the columns"
       " of given data types.", _TABLE),
    Op(".squeeze", "", "collapse unwrap simplify / single_lane to_line one_strand", "Turns a table of one column or"
       " row into that column or row.", "the column, row or value"),
    Op(".to_frame", "| name", "wrap box lift / as_sheet strand_up into_grid", "Makes a table of one column.", _TABLE),
    Op(".to_dict", "| orient", "export hand_out convert / as_pairs lookup keyed", "Makes a Python dict.", "the dict"),
    Op(".to_numpy", "", "export strip_down bare / as_grid_raw matrix raw_block", "Makes a numpy array of the values.",
       "the array"),
    Op(".tolist", "", "export hand_out enumerate / as_items plainly in_sequence", "Makes a Python list of the values.",
       "the list"),
    Op(".equals", "other", "identical agree coincide / contents with_other fully", "Tells whether two have the same"
       " content.", "True or False"),
    Op(".eval", "expr", "work_out reckon compute / phrase formula_text wording", "Computes a formula, written as a"
       " text over column names.", "the result"),
    Op(".droplevel", "level", "peel remove strip / layer tier label_part", "Leaves out a level of labels.", _SAME),
    Op(".swaplevel", "", "exchange switch trade / layers tiers label_parts", "Exchanges two levels of row labels.",
       _SAME),
)  # fmt: skip
