"""What a parameter is where an operation means something of its own by it."""

from __future__ import annotations

from collections.abc import Mapping

_TRUE_FALSE = "True or False for each place"
_NEW_KEYS = "the column whose values become the row labels"
_NEW_COLUMNS = "the column whose values become the new columns"
_GRID = {"index": _NEW_KEYS, "columns": _NEW_COLUMNS, "values": "the column with the values in the cells"}
_STATISTIC = "the name of a statistic such as 'mean', a function, or a list or dict of these"
_POINTS = {"x": "where the points are, horizontally", "y": "where the points are, vertically"}
_FEATURES = "a table of the columns to learn from or to answer for"
_MERGE = {"left": "the first table", "right": "the second table"}

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "[]=": {"value": "what the column holds", "key": "the name of the column to write"},
    ".loc[,]=": {"value": "what to write there"},
    ".rename": {"columns": "a dict of old and new column names", "index": "a dict of old and new labels"},
    ".drop": {"columns": "the column name or a list of them to leave out", "index": "the row labels to leave out",
              "labels": "the label or a list of them to leave out"},
    ".drop_duplicates": {"subset": "the columns by which rows are compared"},
    ".dropna": {"subset": "the columns in which missing values are looked for"},
    ".fillna": {"value": "what to put there: one value, or a dict or column of them"},
    ".set_index": {"keys": "the column name or a list of them"},
    ".reset_index": {"name": "the name for the column of values", "level": "the level that becomes a column"},
    ".nlargest": {"columns": "the column by which rows are compared"},
    ".nsmallest": {"columns": "the column by which rows are compared"},
    ".between": {"left": "the lower bound", "right": "the upper bound"},
    ".isin": {"values": "the list of values to look for"},
    ".sort_values": {"by": "the column name or a list of them to go by", "kind": "how to sort, such as 'stable', which"
                     " keeps equal ones in their order"},
    ".sort_index": {"kind": "how to sort, such as 'stable', which keeps equal ones in their order"},
    ".groupby": {"by": "the column name, a list of them, or a column of values that makes the groups"},
    ".agg": {"func": _STATISTIC},
    ".transform": {"func": _STATISTIC},
    ".apply": {"func": "the function to call"},
    ".map": {"func": "a dict of old and new values, or a function"},
    ".pipe": {"func": "the function to call"},
    ".merge": {**_MERGE, "how": "'left', 'right', 'inner', 'outer' or 'cross': which rows are kept"},
    "pd.merge": {**_MERGE, "how": "'left', 'right', 'inner', 'outer' or 'cross': which rows are kept"},
    ".join": {"other": "the second table", "on": "the column of the first table to match with the second's row labels"},
    ".pivot": _GRID,
    ".pivot_table": _GRID,
    "pd.pivot_table": {**_GRID, "data": "the table"},
    "pd.crosstab": {"index": "the column of values that make the rows", "columns": "the column of values that make the"
                    " columns", "values": "the values to compute a statistic of instead of counting"},
    "pd.get_dummies": {"columns": "the columns to turn", "data": "the table or column"},
    "pd.DataFrame": {"columns": "the column names", "index": "the row labels", "data": "a dict of columns, a list of"
                     " rows, or an array"},
    "pd.Series": {"index": "the labels", "data": "a list, dict or array of values", "name": "the name of the column"},
    "pd.cut": {"x": "the values to sort into intervals", "labels": "names for the intervals, or False for their"
               " numbers", "bins": "a list of edges, or the number of intervals"},
    "pd.qcut": {"x": "the values to sort into intervals", "labels": "names for the intervals, or False for their"
                " numbers", "q": "the number of intervals, or a list of shares from 0 to 1"},
    "pd.concat": {"keys": "labels that tell the parts apart"},
    "pd.to_datetime": {"arg": "the texts or numbers to turn", "unit": "the unit of numbers, such as 's'"},
    "pd.to_timedelta": {"arg": "the texts or numbers to turn", "unit": "the unit of numbers, such as 'D'"},
    "pd.to_numeric": {"arg": "the texts to turn"},
    "pd.Timedelta": {"value": "a number or a text such as '3 days'"},
    "pd.date_range": {"start": "the first date", "end": "the last date", "periods": "how many dates", "freq": "the"
                      " distance, such as 'D' or 'MS'"},
    ".quantile": {"q": "the share, 0 to 1, or a list of shares"},
    "np.quantile": {"q": "the share, 0 to 1, or a list of shares"},
    "np.percentile": {"q": "the percentage, 0 to 100, or a list of them"},
    ".corr": {"other": "the second column"},
    ".cov": {"other": "the second column"},
    ".shift": {"periods": "how many rows to move by"},
    ".diff": {"periods": "how many rows back the other value stands"},
    ".pct_change": {"periods": "how many rows back the other value stands"},
    ".where": {"other": "what to put where the condition is false"},
    ".mask": {"other": "what to put where the condition is true"},
    ".replace": {"value": "what to put in place of the given values"},
    ".head": {"n": "how many rows"},
    ".tail": {"n": "how many rows"},
    ".sample": {"n": "how many rows"},
    ".nth": {"n": "the position, from 0"},
    ".str.split": {"pat": "the separator", "n": "how many cuts at most"},
    ".str.rsplit": {"pat": "the separator", "n": "how many cuts at most"},
    ".str.slice": {"start": "the first position, from 0", "stop": "the position after the last"},
    ".ewm": {"alpha": "the weight of the newest value, 0 to 1"},
    "np.where": {"condition": _TRUE_FALSE, "x": "what to take where it is true", "y": "what to take where it is"
                 " false"},
    "np.polyfit": {"x": "the places of the points", "y": "their values"},
    "np.polyval": {"x": "where to compute it"},
    "np.interp": {"x": "where values are wanted"},
    "np.linspace": {"start": "the first number", "stop": "the last number"},
    "np.arange": {"start": "the first number, or, alone, where to end", "stop": "where to end; itself not included"},
    "np.random.default_rng": {"seed": "a whole number that fixes what is drawn"},
    "scipy.stats.linregress": {"x": "the places of the points", "y": "their values"},
    "scipy.stats.chi2_contingency": {"observed": "the table of counts"},
    "plt.bar": {"x": "where the bars stand", "width": "how wide bars are"},
    "axes.bar": {"x": "where the bars stand", "width": "how wide bars are"},
    "plt.barh": {"y": "where the bars lie", "width": "the lengths of the bars", "height": "how thick bars are"},
    "axes.barh": {"y": "where the bars lie", "width": "the lengths of the bars", "height": "how thick bars are"},
    "plt.plot": _POINTS, "axes.plot": _POINTS, "plt.scatter": {**_POINTS, "s": "the sizes of the marks"},
    "axes.scatter": {**_POINTS, "s": "the sizes of the marks"},
    "plt.hist": {"x": "the values"}, "axes.hist": {"x": "the values"},
    "plt.pie": {"x": "the shares", "labels": "the texts at the sectors"},
    "axes.pie": {"x": "the shares", "labels": "the texts at the sectors"},
    "plt.boxplot": {"x": "the values, or a list of columns of them"},
    "axes.boxplot": {"x": "the values, or a list of columns of them"},
    "plt.axhline": {"y": "at which height"}, "axes.axhline": {"y": "at which height"},
    "plt.axvline": {"x": "at which place of the horizontal axis"},
    "axes.axvline": {"x": "at which place of the horizontal axis"},
    "plt.xlim": {"left": "the lower end", "right": "the upper end"},
    "axes.set_xlim": {"left": "the lower end", "right": "the upper end"},
    "axes.legend": {"title": "the heading", "loc": "where it stands, such as 'upper left'"},
    "plt.legend": {"title": "the heading", "loc": "where it stands, such as 'upper left'"},
    ".plot": {"x": "the column to draw along the horizontal axis", "y": "the column or columns to draw"},
    ".plot.scatter": {"x": "the column to draw along the horizontal axis", "y": "the column to draw along the vertical"
                      " axis"},
    ".fit": {"X": _FEATURES, "y": "the true value for each of its rows"},
    ".fit_transform": {"X": _FEATURES},
    ".fit_predict": {"X": _FEATURES},
    ".predict": {"X": _FEATURES},
    ".predict_proba": {"X": _FEATURES},
    ".score": {"X": _FEATURES, "y": "the true value for each of its rows"},
    "sklearn.linear_model.Ridge": {"alpha": "the weight of the penalty"},
    "sklearn.linear_model.Lasso": {"alpha": "the weight of the penalty"},
    "sklearn.metrics.silhouette_score": {"labels": "the cluster of each row"},
}  # fmt: skip
"""Operation -> real name of a parameter -> its description."""
