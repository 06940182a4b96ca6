"""Values that an analysis may end with, by name: those that come back from a kernel, and those that never do."""

import array
import collections
import datetime
import decimal
import enum
import fractions
import io
import ipaddress
import itertools
import pathlib
import re
import statistics
import types
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import scipy.optimize
import scipy.sparse
import scipy.stats
import sklearn.cluster
import sklearn.compose
import sklearn.datasets
import sklearn.decomposition
import sklearn.ensemble
import sklearn.feature_extraction.text
import sklearn.impute
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.pipeline
import sklearn.preprocessing
import sklearn.svm
import sklearn.tree

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), np.arange(40) % 2
FRAME = pd.DataFrame(
    {
        "name": ["ann", "bob", "cy", "dee", "ed", "flo"],
        "team": ["red", "blue", "red", "blue", "red", "blue"],
        "score": [1.5, 2.5, np.nan, 4.0, 5.5, 6.0],
        "rank": [1, 2, 3, 4, 5, 6],
        "day": pd.date_range("2024-01-01", periods=6, freq="D"),
    }
)
Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1


STANDARD: dict[str, Any] = {
    "None": None,
    "bool": True,
    "int": 3,
    "large int": 1 << 200,
    "float": 1.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "complex": 1 + 2j,
    "str": "ü",
    "empty str": "",
    "bytes": b"\0a",
    "bytearray": bytearray(b"ab"),
    "list": [1, "a", None],
    "tuple": (1, (2,)),
    "empty tuple": (),
    "set": {1, 2},
    "frozenset": frozenset("ab"),
    "dict": {"a": 1, ("b", 2): [3]},
    "nested dict": {"a": {"b": {"c": [1, {2}]}}},
    "range": range(2, 20, 3),
    "empty range": range(0),
    "slice": slice(1, None, 2),
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    "OrderedDict": collections.OrderedDict(b=1, a=2),
    "Counter": collections.Counter("abca"),
    "defaultdict of list": collections.defaultdict(list, {"a": [1]}),
    "defaultdict of int": collections.defaultdict(int),
    "ChainMap": collections.ChainMap({"a": 1}, {"b": 2}),
    "deque": collections.deque([1, 2], 5),
    "UserDict": collections.UserDict(a=1),
    "UserList": collections.UserList([1]),
    "UserString": collections.UserString("a"),
    "SimpleNamespace": types.SimpleNamespace(a=1, b=[2]),
    "Decimal": decimal.Decimal("1.10"),
    "Decimal NaN": [decimal.Decimal("Infinity")],
    "Fraction": fractions.Fraction(3, 7),
    "dict of Decimals": {"a": decimal.Decimal("2.50")},
    "date": datetime.date(2024, 2, 29),
    "time": datetime.time(1, 2, 3),
    "datetime": datetime.datetime(2024, 1, 2, 3),
    "datetime in UTC": datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC),
    "datetime in a zone": datetime.datetime(2024, 7, 2, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
    "timedelta": datetime.timedelta(days=1, microseconds=5),
    "timezone": datetime.timezone(datetime.timedelta(hours=2)),
    "ZoneInfo": zoneinfo.ZoneInfo("Asia/Tokyo"),
    "UUID": uuid.UUID(int=5),
    "PosixPath": pathlib.PosixPath("/a/b"),
    "PurePosixPath": pathlib.PurePosixPath("a"),
    "PureWindowsPath": pathlib.PureWindowsPath("c:/a"),
    "IPv4Address": ipaddress.ip_address("127.0.0.1"),
    "IPv6Address": ipaddress.ip_address("::1"),
    "IPv4Network": ipaddress.ip_network("10.0.0.0/8"),
    "IPv6Network": ipaddress.ip_network("fe80::/10"),
    "array.array": array.array("d", [1.5, 2]),
    "NormalDist": statistics.NormalDist(1.0, 2.0),
    "class int": int,
    "class date": datetime.date,
    "class Decimal": decimal.Decimal,
    "mean": statistics.mean([1, 2, 4]),
    "multimode": statistics.multimode("aabb"),
    "quantiles": statistics.quantiles([1, 2, 3, 4]),
    "list of pairs": list(zip("ab", [1, 2], strict=True)),
    "groupby lists": {k: list(g) for k, g in itertools.groupby("aab")},
    "linear_regression": tuple(statistics.linear_regression([1, 2, 3], [2, 4, 7])),
}
NUMPY: dict[str, Any] = {
    **{
        name: getattr(np, name)(1)
        for name in (
            "bool_",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "longdouble",
            "complex64",
            "complex128",
            "clongdouble",
        )
    },
    "str_": np.str_("a\0b"),
    "empty str_": np.str_(""),
    "bytes_": np.bytes_(b"a"),
    "datetime64": np.datetime64("2024-01-02"),
    "datetime64 NaT": [np.datetime64("NaT")],
    "timedelta64": np.timedelta64(5, "D"),
    "void": np.array([(1, 2.5)], "i4,f8")[0],
    **{
        f"array of {name}": np.array([0, 1, 2], name)
        for name in ("i1", "i8", "u2", "f2", "f4", "f8", "c16", "M8[s]", "m8[D]", "?", ">i4", "g")
    },
    "matrix of floats": np.eye(3),
    "3 dimensions": np.zeros((2, 1, 3)),
    "empty array": np.empty((0, 4)),
    "scalar array": np.array(1.5),
    "array of texts": np.array(["a", "bc"]),
    "array of bytes": np.array([b"a", b"bc"]),
    "array of objects": np.array([1, "a", None, [2]], object),
    "array of StringDType": np.array(["a", "b"], np.dtypes.StringDType()),
    "structured array": np.array([(1, "a"), (2, "b")], [("n", "i4"), ("t", "U3")]),
    "nested structure": np.zeros(2, [("a", [("b", "f4")]), ("c", "i2", (2,))]),
    "recarray": np.rec.array([(1, 2.5)], names="a,b"),
    "np.matrix": np.matrix([[1, 2], [3, 4]]),
    "masked array": np.ma.array([1.5, 2, 3], mask=[0, 1, 0]),
    "masked ints": np.ma.masked_equal([[1, 2], [2, 3]], 2),
    "dtype": np.dtype("f4"),
    "dtype of objects": np.dtype(object),
    "structured dtype": np.dtype([("a", "i4"), ("b", "U5")]),
    "class float64": np.float64,
    "class ndarray": np.ndarray,
    "histogram": np.histogram([1, 2, 2, 5]),
    "unique": np.unique([3, 1, 1], return_counts=True),
    "percentile": np.percentile([1, 2, 3], [25, 75]),
    "polyfit": np.polyfit([1, 2, 3], [1, 4, 9], 2),
    "poly1d": np.poly1d([1, 2]),
    "Polynomial": np.polynomial.Polynomial([1, 2]),
    "Chebyshev": np.polynomial.Chebyshev([1, 2]),
    "ufunc": np.log1p,
    "list of ufuncs": [np.add],
    "linalg.eigh": tuple(np.linalg.eigh(np.eye(2))),
    "linalg.svd": tuple(np.linalg.svd(np.eye(2))),
    "Generator": np.random.default_rng(3),
    "RandomState": np.random.RandomState(3),
    "nan in an array": np.array([np.nan, 1]),
    "finfo.eps": np.finfo(float).eps,
    "where": np.where([True, False]),
}
PANDAS: dict[str, Any] = {
    "DataFrame": FRAME,
    "empty DataFrame": pd.DataFrame(),
    "columns alone": pd.DataFrame(columns=["a", ("b", 1)]),
    "Series": FRAME["score"],
    "text column": FRAME["name"],
    "text column of objects": FRAME["name"].astype(object),
    "index of texts": pd.Index(["a", "b"]),
    "index of objects": pd.Index(["a", 1, None], dtype=object),
    "dtypes": FRAME.dtypes,
    "dtypes as dict": FRAME.dtypes.to_dict(),
    "dtypes of kinds": FRAME.assign(team=FRAME["team"].astype("category"), s=FRAME["name"].astype("string")).dtypes,
    **{
        f"column of {name}": pd.Series([1, 0, 1]).astype(name)
        for name in (
            "int8",
            "uint16",
            "float32",
            "bool",
            "Int64",
            "UInt8",
            "Float32",
            "boolean",
            "string",
            "category",
            "object",
            "complex128",
            "Sparse[int]",
            "Sparse[float]",
            "int64[pyarrow]",
            "double[pyarrow]",
            "bool[pyarrow]",
            "string[pyarrow]",
        )
    },
    "python strings": pd.Series(["a", None], dtype="string[python]"),
    "str in python": pd.Series(["a", None], dtype=pd.StringDtype("python", na_value=np.nan)),
    "str in Arrow": pd.Series(["a", None], dtype=pd.StringDtype("pyarrow", na_value=np.nan)),
    "pyarrow strings": pd.Series(["a", pd.NA], dtype="string[pyarrow]"),
    "Arrow timestamps": pd.Series(FRAME["day"], dtype="timestamp[ns][pyarrow]"),
    "Arrow text": pd.Series(["a", None], dtype=pd.ArrowDtype(__import__("pyarrow").string())),
    "category of text": FRAME["team"].astype("category"),
    "category of strings": FRAME["team"].astype("string").astype("category"),
    "ordered category": pd.Series(pd.Categorical(["s", "l"], ["s", "m", "l"], ordered=True)),
    "category of numbers": pd.Series([1.5, 2, 1.5]).astype("category"),
    "cut": pd.cut(FRAME["rank"], 3),
    "cut with labels": pd.cut(FRAME["rank"], 3, labels=["a", "b", "c"]),
    "qcut": pd.qcut(FRAME["rank"], 2),
    "cut with bins": pd.cut(FRAME["rank"], 3, retbins=True),
    "groupby mean": FRAME.groupby("team")["score"].mean(),
    "groupby agg": FRAME.groupby("team").agg({"score": ["mean", "max"], "rank": "sum"}),
    "groupby size": FRAME.groupby(["team", "name"]).size(),
    "groupby describe": FRAME.groupby("team")["score"].describe(),
    "groupby dict": {k: v for k, v in FRAME.groupby("team")},
    "groups": dict(FRAME.groupby("team").groups),
    "indices": FRAME.groupby("team").indices,
    "describe": FRAME.describe(),
    "describe all": FRAME.describe(include="all"),
    "value_counts": FRAME["team"].value_counts(),
    "value_counts normalised": FRAME["team"].value_counts(normalize=True),
    "value_counts of a table": FRAME[["team", "name"]].value_counts(),
    "corr": FRAME[["score", "rank"]].corr(),
    "crosstab": pd.crosstab(FRAME["team"], FRAME["rank"] > 3),
    "pivot_table": FRAME.pivot_table(index="team", values="score", aggfunc=["mean", "count"]),
    "pivot": FRAME.pivot(index="name", columns="team", values="rank"),
    "melt": FRAME.melt(id_vars="name", value_vars=["score", "rank"]),
    "get_dummies": pd.get_dummies(FRAME["team"]),
    "stack": FRAME[["score", "rank"]].stack(),
    "unstack": FRAME.set_index(["team", "name"])["rank"].unstack(),
    "resample": FRAME.set_index("day")["rank"].resample("2D").sum(),
    "month ends": FRAME.set_index("day")["rank"].resample("ME").sum(),
    "rolling": FRAME["rank"].rolling(2).mean(),
    "rank of": FRAME["score"].rank(),
    "to_dict": FRAME.to_dict(),
    "records": FRAME.to_dict("records"),
    "to_records": FRAME[["rank", "score"]].to_records(),
    "values": FRAME.values,
    "unique texts": FRAME["team"].unique(),
    "unique categories": FRAME["team"].astype("category").unique(),
    "factorize": pd.factorize(FRAME["team"]),
    "mode": FRAME["team"].mode(),
    "quantile": FRAME["score"].quantile([0.25, 0.75]),
    "idxmax": FRAME["rank"].idxmax(),
    "loc row": FRAME.loc[2],
    "shape": FRAME.shape,
    "columns": FRAME.columns,
    "tolist": FRAME["name"].tolist(),
    "isna": FRAME.isna().sum(),
    "duplicated names": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "transpose": FRAME.T,
    "sample": FRAME.sample(3, random_state=1),
    "nlargest": FRAME.nlargest(2, "rank"),
    "RangeIndex": pd.RangeIndex(2, 9, 3, name="r"),
    "MultiIndex": pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", None]),
    "DatetimeIndex": pd.date_range("2024", periods=3, freq="h"),
    "zoned DatetimeIndex": pd.date_range("2024", periods=3, freq="D", tz="Europe/Paris"),
    "TimedeltaIndex": pd.timedelta_range("1h", periods=3),
    "PeriodIndex": pd.period_range("2024-01", periods=3, freq="M"),
    "IntervalIndex": pd.interval_range(0, 3),
    "CategoricalIndex": pd.CategoricalIndex(["a", "b"]),
    "Timestamp": pd.Timestamp("2024-01-02 03:04"),
    "zoned Timestamp": pd.Timestamp("2024", tz="Asia/Tokyo"),
    "Timedelta": pd.Timedelta("1h"),
    "Period": pd.Period("2024Q3"),
    "Interval": pd.Interval(0, 1.5),
    "NaT": pd.NaT,
    "NA": pd.NA,
    "list of Timestamps": list(FRAME["day"]),
    "CategoricalDtype": pd.CategoricalDtype(["a"], True),
    "StringDtype": pd.StringDtype(),
    "DatetimeTZDtype": pd.DatetimeTZDtype("ns", "UTC"),
    "PeriodDtype": pd.PeriodDtype("M"),
    "IntervalDtype": pd.IntervalDtype("float64", "left"),
    "SparseDtype": pd.SparseDtype("f8", 0.0),
    "Int64Dtype": pd.Int64Dtype(),
    "array of masked ints": pd.array([1, None]),
    "array of strings": pd.array(["a", None]),
    "Categorical": pd.Categorical(["a", "b", "a"]),
    "SparseArray": pd.arrays.SparseArray([0, 0, 1]),
    "IntervalArray": pd.arrays.IntervalArray.from_breaks([0, 1, 2]),
    "offset": pd.offsets.MonthEnd(),
    "offset of hours": pd.offsets.Hour(3),
    "class DataFrame": pd.DataFrame,
    "select_dtypes": FRAME.select_dtypes("number"),
    "nested tables": [FRAME, {"a": FRAME["rank"]}],
    "cells of lists": pd.Series([[1], [2, "a"], {"b": 1}]),
    "texts split": FRAME["name"].str.split("n"),
    "dates": FRAME["day"].dt.date,
    "periods of dates": FRAME["day"].dt.to_period("M"),
    "isocalendar": FRAME["day"].dt.isocalendar(),
    "wide text": FRAME["name"].str.get_dummies(),
}


def _models() -> dict[str, Any]:
    linear, tree = sklearn.linear_model, sklearn.tree.DecisionTreeClassifier(random_state=0)
    text = sklearn.feature_extraction.text
    fits = {
        "LinearRegression": linear.LinearRegression(),
        "Ridge": linear.Ridge(),
        "Lasso": linear.Lasso(),
        "LogisticRegression": linear.LogisticRegression(),
        "SGDClassifier": linear.SGDClassifier(random_state=0),
        "DecisionTree": tree,
        "RandomForest": sklearn.ensemble.RandomForestClassifier(3, random_state=0),
        "GradientBoosting": sklearn.ensemble.GradientBoostingClassifier(n_estimators=2, random_state=0),
        "HistGradientBoosting": sklearn.ensemble.HistGradientBoostingClassifier(max_iter=2),
        "AdaBoost": sklearn.ensemble.AdaBoostClassifier(n_estimators=2, random_state=0),
        "IsolationForest": sklearn.ensemble.IsolationForest(n_estimators=2, random_state=0),
        "KNeighbors": sklearn.neighbors.KNeighborsClassifier(),
        "SVC": sklearn.svm.SVC(),
        "GaussianNB": sklearn.naive_bayes.GaussianNB(),
        "KMeans": sklearn.cluster.KMeans(2, n_init=1, random_state=0),
        "DBSCAN": sklearn.cluster.DBSCAN(),
        "Agglomerative": sklearn.cluster.AgglomerativeClustering(2),
        "PCA": sklearn.decomposition.PCA(2),
        "StandardScaler": sklearn.preprocessing.StandardScaler(),
        "MinMaxScaler": sklearn.preprocessing.MinMaxScaler(),
        "OneHotEncoder": sklearn.preprocessing.OneHotEncoder(),
        "PolynomialFeatures": sklearn.preprocessing.PolynomialFeatures(2),
        "FunctionTransformer": sklearn.preprocessing.FunctionTransformer(np.log1p),
        "SimpleImputer": sklearn.impute.SimpleImputer(),
        "Pipeline": sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), linear.LogisticRegression()),
        "ColumnTransformer": sklearn.compose.make_column_transformer((sklearn.preprocessing.StandardScaler(), [0, 1])),
        "GridSearchCV": sklearn.model_selection.GridSearchCV(tree, {"max_depth": [1, 2]}, cv=2),
        "GridSearchCV with scoring": sklearn.model_selection.GridSearchCV(
            tree, {"max_depth": [1, 2]}, cv=2, scoring="accuracy"
        ),
        "RandomizedSearchCV": sklearn.model_selection.RandomizedSearchCV(
            tree, {"max_depth": [1, 2]}, n_iter=2, cv=2, random_state=0
        ),
    }
    made = {name: model.fit(abs(X), Y) for name, model in fits.items()}
    return made | {
        "LabelEncoder": sklearn.preprocessing.LabelEncoder().fit(["a", "b"]),
        "TfidfVectorizer": text.TfidfVectorizer().fit(["a bb", "cc bb"]),
        "model of a table": linear.LinearRegression().fit(FRAME[["rank"]], FRAME["rank"]),
        "not fitted": linear.Ridge(alpha=0.5),
        "model and score": (made["PCA"], 0.5, FRAME),
        "dict of models": {"a": made["Ridge"], "b": made["SVC"]},
        "train_test_split": sklearn.model_selection.train_test_split(FRAME, random_state=0),
        "cross_validate": {"test_score": sklearn.model_selection.cross_validate(tree, X, Y, cv=2)["test_score"]},
        "confusion_matrix": sklearn.metrics.confusion_matrix(Y, 1 - Y),
        "report": sklearn.metrics.classification_report(Y, Y, output_dict=True),
        "roc_curve": sklearn.metrics.roc_curve(Y, X[:, 0]),
        "KFold": sklearn.model_selection.KFold(3),
        "Bunch": sklearn.datasets.load_iris(),
        "cv_results_": made["GridSearchCV"].cv_results_,
    }


def _scipy() -> dict[str, Any]:
    a, b, stats = X[:, 0], X[:, 1], scipy.stats
    tables = {
        name: getattr(scipy.sparse, name)(np.eye(3))
        for name in (
            "csr_matrix",
            "csc_matrix",
            "coo_matrix",
            "lil_matrix",
            "dok_matrix",
            "bsr_matrix",
            "dia_matrix",
            "csr_array",
            "coo_array",
        )
    }
    return tables | {
        "ttest_ind": stats.ttest_ind(a, b),
        "ttest_1samp": stats.ttest_1samp(a, 0),
        "ttest_rel": stats.ttest_rel(a, b),
        "f_oneway": stats.f_oneway(a, b),
        "pearsonr": stats.pearsonr(a, b),
        "spearmanr": stats.spearmanr(a, b),
        "kendalltau": stats.kendalltau(a, b),
        "linregress": stats.linregress(a, b),
        "chi2_contingency": stats.chi2_contingency([[1, 2], [3, 4]]),
        "mannwhitneyu": stats.mannwhitneyu(a, b),
        "ks_2samp": stats.ks_2samp(a, b),
        "shapiro": stats.shapiro(a),
        "wilcoxon": stats.wilcoxon(a, b),
        "kruskal": stats.kruskal(a, b),
        "levene": stats.levene(a, b),
        "normaltest": stats.normaltest(a),
        "describe of scipy": stats.describe(a),
        "mode of scipy": stats.mode([1, 1, 2]),
        "zscore": stats.zscore(a),
        "minimize_scalar": scipy.optimize.minimize_scalar(lambda x: x * x),
        "curve_fit": scipy.optimize.curve_fit(lambda x, k: k * x, [1, 2], [2, 4]),
        "results in a table": {"t": stats.ttest_ind(a, b), "f": FRAME},
    }


def _drawn() -> dict[str, Any]:
    figure, axes = plt.subplots()
    values = {
        "limits of an axis": axes.get_xlim(),
        "counts of a histogram": tuple(axes.hist([1, 2, 2])[:2]),
        "colour": matplotlib.colors.to_rgba("red"),
        "colour of a map": plt.cm.viridis(0.5),
        "points of a line": axes.plot([1, 2])[0].get_xydata(),
        "number of a date": matplotlib.dates.date2num(datetime.date(2024, 1, 2)),
        "heights": [bar.get_height() for bar in axes.bar([1], [2])],
        "size": figure.get_size_inches(),
    }
    plt.close(figure)
    return values


def comparable() -> dict[str, Any]:
    """The values that come back, by kind."""
    return (
        STANDARD
        | {f"numpy {k}": v for k, v in NUMPY.items()}
        | {f"pandas {k}": v for k, v in PANDAS.items()}
        | {f"sklearn {k}": v for k, v in _models().items()}
        | {f"scipy {k}": v for k, v in _scipy().items()}
        | _drawn()
    )


UNCOMPARABLE: dict[str, Callable[[], Any]] = {
    "generator": lambda: (n for n in ()),
    "iterator": lambda: iter([1]),
    "map": lambda: map(str, []),
    "zip": lambda: zip([], strict=True),
    "function": lambda: comparable,
    "lambda": lambda: lambda: 1,
    "method": lambda: [].append,
    "module": lambda: re,
    "file": io.StringIO,
    "enum": lambda: Colour.RED,
    "class of one's own": lambda: Colour,
    "object": object,
    "exception": lambda: ValueError("a"),
    "match": lambda: re.match("a", "a"),
    "keys": lambda: {}.keys(),
    "figure": plt.figure,
    "axes": lambda: plt.figure().add_subplot(),
    "bars": lambda: plt.figure().add_subplot().bar([1], [1]),
    "colour map": lambda: plt.get_cmap("viridis"),
    "groupby": lambda: FRAME.groupby("team"),
    "rolling window": lambda: FRAME["rank"].rolling(2),
    "styled table": lambda: FRAME.style,
    "frozen distribution": lambda: scipy.stats.norm(0, 1),
    "spline": lambda: scipy.interpolate.interp1d([1, 2], [1, 2]),
    "kernel density": lambda: scipy.stats.gaussian_kde([1.0, 2, 3]),
    "search over distributions": lambda: sklearn.model_selection.RandomizedSearchCV(
        sklearn.linear_model.Ridge(), {"alpha": scipy.stats.uniform(0, 1)}
    ),
    "model with one's own function": lambda: sklearn.preprocessing.FunctionTransformer(Colour),
}
"""Makers of values that no turn can be judged by."""
