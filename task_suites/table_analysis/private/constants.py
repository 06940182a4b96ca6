"""Settings that become a part of a private function instead of a parameter, such as the direction of a sort."""

from __future__ import annotations

from collections.abc import Mapping

CLAUSES: Mapping[str, Mapping[str, str]] = {
    "ascending": {"False": "Always largest first.", "True": "Always smallest first."},
    "how": {
        "'left'": "But every row of the first one is kept, with or without a match.",
        "'right'": "But every row of the second one is kept, with or without a match.",
        "'inner'": "Only rows with a match are kept.",
        "'outer'": "But all rows of both are kept, with or without a match.",
        "'cross'": "Every row of the first one is combined with every row of the second.",
        "'any'": "One missing value is enough.",
        "'all'": "Only if all values are missing.",
    },
    "as_index": {"False": "The keys become ordinary columns of later results.", "True": "The keys become row labels."},
    "group_keys": {"False": "Results do not get the keys as labels.", "True": "Results get the keys as labels."},
    "observed": {"True": "Only categories that occur are taken.", "False": "Categories that never occur count too."},
    "sort": {"False": "The order is not changed.", "True": "The result is put in order."},
    "dropna": {"False": "Missing values are kept.", "True": "Missing values are left out."},
    "drop": {"True": "The old labels are thrown away.", "False": "What becomes a label also stays a column."},
    "inplace": {"True": "It is changed itself, and nothing is given back."},
    "ignore_index": {"True": "The rows are numbered anew from 0."},
    "keep": {
        "'first'": "Of equals the first counts as the original.",
        "'last'": "Of equals the last counts as the original.",
        "False": "Of equals none counts as the original.",
        "'all'": "Ties at the end are all kept.",
    },
    "errors": {"'coerce'": "What cannot be converted becomes missing.", "'ignore'": "Labels that are not there are"
               " passed over.", "'raise'": "Anything wrong is an error."},
    "normalize": {"True": "As shares that add up to 1, instead of counts.", "'index'": "As shares of each row.",
                  "'columns'": "As shares of each column.", "'all'": "As shares of all."},
    "numeric_only": {"True": "Only for columns of numbers."},
    "expand": {"True": "The pieces become columns.", "False": "The pieces stay together."},
    "regex": {"False": "The pattern is plain text.", "True": "The pattern is a regular expression."},
    "case": {"False": "Capitals and small letters are the same.", "True": "Capitals and small letters differ."},
    "na": {"False": "A missing text counts as no.", "True": "A missing text counts as yes."},
    "method": {
        "'spearman'": "By ranks.",
        "'pearson'": "By the values themselves.",
        "'kendall'": "By the order of pairs.",
        "'min'": "Equal values share the best of their places.",
        "'max'": "Equal values share the last of their places.",
        "'dense'": "Equal values share a place, and no place is left out.",
        "'first'": "Equal values are placed in the order in which they stand.",
        "'average'": "Equal values share the average of their places.",
        "'linear'": "On a straight line, all steps equal.",
    },
    "pct": {"True": "Places are given as shares."},
    "center": {"True": "Each window lies around its row."},
    "ddof": {"0": "The divisor is n.", "1": "The divisor is n - 1."},
    "right": {"False": "An interval includes its left edge, not its right one."},
    "include_lowest": {"True": "The lowest edge belongs to the first interval."},
    "retbins": {"True": "The edges are given too."},
    "return_counts": {"True": "The number of times that each occurs is given too."},
    "indicator": {"True": "A column _merge tells where each row comes from."},
    "margins": {"True": "Totals are added, labelled All."},
    "inclusive": {
        "'both'": "Both bounds belong to it.",
        "'left'": "Only the lower bound belongs to it.",
        "'right'": "Only the upper bound belongs to it.",
        "'neither'": "No bound belongs to it.",
    },
    "skipna": {"False": "A missing value makes the result missing.", "True": "Missing values are left out."},
    "index": {"False": "Without the row labels."},
    "drop_first": {"True": "The first category is left out."},
    "utc": {"True": "The dates are in UTC."},
    "stacked": {"True": "On top of each other."},
    "density": {"True": "Scaled so that the areas add up to 1."},
    "axis": {"1": "Goes along the columns.", "0": "Goes along the rows.", "'columns'": "Goes along the columns.",
             "'index'": "Goes along the rows."},
    "orient": {
        "'records'": "As a list with a dict per row.",
        "'list'": "As a dict with a list per column.",
        "'index'": "As a dict with a dict per row label.",
        "'dict'": "As a dict with a dict per column.",
    },
    "left_index": {"True": "The row labels of the first one are its key."},
    "right_index": {"True": "The row labels of the second one are its key."},
    "full": {"True": "With details on the fit."},
}  # fmt: skip
"""Keyword -> source of its value -> the sentence that says so."""

AXES: Mapping[str, Mapping[str, str]] = {
    ".drop": {"1": "The labels are of columns.", "0": "The labels are of rows.",
              "'columns'": "The labels are of columns.", "'index'": "The labels are of rows."},
    ".dropna": {"1": "Columns are left out instead of rows.", "0": "Rows are left out.",
                "'columns'": "Columns are left out instead of rows.", "'index'": "Rows are left out."},
    "pd.concat": {"1": "They are put side by side, matched by row labels.", "0": "They are put below each other.",
                  "'columns'": "They are put side by side.", "'index'": "They are put below each other."},
    ".apply": {"1": "The function gets one row at a time.", "0": "The function gets one column at a time.",
               "'columns'": "The function gets one row at a time.", "'index'": "The function gets one column at a"
               " time."},
    ".div": {"1": "Its labels are column names.", "0": "Its labels are row labels.",
             "'columns'": "Its labels are column names.", "'index'": "Its labels are row labels."},
    ".mul": {"1": "Its labels are column names.", "0": "Its labels are row labels.",
             "'columns'": "Its labels are column names.", "'index'": "Its labels are row labels."},
    "": {"1": "One result per row, from its columns.", "0": "One result per column.",
         "'columns'": "One result per row, from its columns.", "'index'": "One result per column."},
}  # fmt: skip
"""What ``axis`` means to an operation; under ``""`` to statistics."""

TURNS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    ".sort_values": ("ascending", ("False", "True")),
    ".sort_index": ("ascending", ("False", "True")),
    ".rank": ("ascending", ("False", "True")),
    ".merge": ("how", ("'left'", "'outer'", "'right'", "'inner'")),
    "pd.merge": ("how", ("'left'", "'outer'", "'right'", "'inner'")),
    ".join": ("how", ("'inner'", "'outer'", "'left'")),
    ".drop_duplicates": ("keep", ("'last'", "'first'")),
    ".duplicated": ("keep", ("'last'", "'first'")),
    ".corr": ("method", ("'spearman'", "'pearson'")),
    ".std": ("ddof", ("0", "1")),
    ".var": ("ddof", ("0", "1")),
    "np.std": ("ddof", ("1", "0")),
    "np.var": ("ddof", ("1", "0")),
    ".value_counts": ("normalize", ("True",)),
    ".between": ("inclusive", ("'neither'", "'left'", "'both'")),
    ".dropna": ("how", ("'all'", "'any'")),
    "pd.cut": ("right", ("False",)),
}
"""Operation -> the setting that makes a look-alike of it, and values that make a difference."""

DEFAULTS: Mapping[str, str] = {
    ".sort_values": "True", ".sort_index": "True", ".rank": "True", ".merge": "'inner'", "pd.merge": "'inner'",
    ".join": "'left'", ".drop_duplicates": "'first'", ".duplicated": "'first'", ".corr": "'pearson'", ".std": "1",
    ".var": "1", "np.std": "0", "np.var": "0", ".between": "'both'", ".dropna": "'any'",
}  # fmt: skip
"""What that setting is when a call says nothing, as source."""


def clause(op: str, keyword: str, value: str) -> str:
    """The sentence for a constant setting given as source, or ``""`` if it stays a parameter."""
    if keyword == "axis":
        return AXES.get(op, AXES[""]).get(value, "")
    return CLAUSES.get(keyword, {}).get(value, "")


UNUSED: Mapping[str, str] = {
    ".sort_values": "by", ".agg": "func", ".groupby": "by", ".drop": "columns", ".filter": "items",
    ".rename": "columns", ".reindex": "labels", ".rename_axis": "mapper", ".pivot": "index columns values",
    ".pivot_table": "values index columns aggfunc", ".melt": "id_vars value_vars", ".merge": "right on",
    ".join": "other", ".ewm": "span", ".clip": "lower upper", ".unstack": "level", ".shift": "periods",
    ".diff": "periods", ".round": "decimals", ".quantile": "q", ".where": "cond other", ".mask": "cond other",
    ".corr": "other", ".cov": "other", ".select_dtypes": "include", ".replace": "to_replace value", ".head": "n",
    ".tail": "n", ".sample": "n random_state", ".to_dict": "orient", ".str.slice": "start stop", ".str.cat": "sep",
    ".str.split": "pat", ".str.rsplit": "pat", ".dt.to_period": "freq", "pd.DataFrame": "data", "pd.Series": "data",
    "pd.merge": "left right on", "pd.date_range": "start periods freq", "pd.Timedelta": "value unit",
    "pd.pivot_table": "data values index columns", "pd.melt": "frame id_vars value_vars", "np.arange": "start stop",
    "np.linspace": "start stop num", "np.round": "a decimals", "np.histogram": "a bins", "np.corrcoef": "x y",
    "np.cov": "m y", "plt.plot": "x y", "axes.plot": "x y", "plt.hist": "x bins", "axes.hist": "x bins",
    "plt.xlim": "left right", "axes.set_xlim": "left right", "plt.ylim": "bottom top", "axes.set_ylim": "bottom top",
    "plt.axhline": "y", "axes.axhline": "y", "plt.axvline": "x", "axes.axvline": "x", "plt.xticks": "ticks labels",
    "plt.yticks": "ticks labels", "axes.set_xticks": "ticks labels", "axes.set_yticks": "ticks labels",
    "plt.subplots": "nrows ncols", "fig.add_subplot": "nrows ncols index", "axes.tick_params": "axis", ".fit": "X y",
    ".fit_transform": "X", "sklearn.ensemble.RandomForestClassifier": "n_estimators random_state",
    "sklearn.ensemble.RandomForestRegressor": "n_estimators random_state", "sklearn.cluster.KMeans": "n_clusters"
    " random_state", "sklearn.neighbors.KNeighborsClassifier": "n_neighbors", "sklearn.neighbors.KNeighborsRegressor":
    "n_neighbors", "sklearn.cluster.AgglomerativeClustering": "n_clusters", "sklearn.decomposition.PCA":
    "n_components", "sklearn.tree.DecisionTreeClassifier": "max_depth random_state",
    "sklearn.tree.DecisionTreeRegressor": "max_depth random_state", "sklearn.impute.SimpleImputer": "strategy",
    "sklearn.preprocessing.PolynomialFeatures": "degree", "sklearn.linear_model.Ridge": "alpha",
    "sklearn.linear_model.Lasso": "alpha", "sklearn.model_selection.cross_val_score": "estimator X y",
    ".get_group": "name", "pd.get_dummies": "data", "sklearn.model_selection.KFold": "n_splits", "plt.fill_between":
    "x y1 y2", "axes.fill_between": "x y1 y2", "plt.stackplot": "", "axes.stackplot": "",
}  # fmt: skip
"""Operation -> the parameters of a function that no code uses, where these are more than it must have."""
