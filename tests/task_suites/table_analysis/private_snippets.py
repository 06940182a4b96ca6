"""Tables and realistic analysis code for the tests of private libraries."""

from __future__ import annotations

import numpy as np
import pandas as pd


def shop_tables() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(3)
    count = 240
    sales = pd.DataFrame(
        {
            "day": pd.date_range("2023-01-02", periods=count, freq="D").strftime("%Y-%m-%d"),
            "town": rng.choice(["Ulm", "Hof", "Bonn"], count),
            "article": rng.choice([" red Mug", "blue mug ", "Tea pot"], count),
            "price": rng.gamma(3, 4, count).round(2),
            "number": rng.integers(1, 9, count),
        }
    )
    sales.loc[rng.choice(count, 20, replace=False), "price"] = np.nan
    towns = pd.DataFrame({"town": ["Ulm", "Bonn", "Trier"], "people": [126, 330, 110]})
    return {"sales": sales, "towns": towns}


SNIPPETS = {
    "groups": """
means = sales.groupby("town")["price"].mean().sort_values(ascending=False).round(2)
first = means.index[0]
several = sales.groupby(["town", "article"], as_index=False).agg(mean=("price", "mean"), n=("number", "sum"))
wide = sales.groupby("town").agg({"price": ["mean", "max"], "number": "sum"}).reset_index()
share = sales["number"] / sales.groupby("town")["number"].transform("sum")
""",
    "joins": """
both = sales.merge(towns, on="town", how="left")
inner = pd.merge(sales, towns, on="town")
outer = sales.merge(towns, how="outer", left_on="town", right_on="town", indicator=True)
rate = both.groupby("town").apply(lambda part: part["number"].sum() / part["people"].iloc[0])
""",
    "reshaping": """
table = sales.pivot_table(index="town", columns="article", values="price", aggfunc="median", fill_value=0)
long = table.reset_index().melt(id_vars="town", value_name="price")
stacked = sales.groupby(["town", "article"])["number"].sum().unstack(fill_value=0)
cross = pd.crosstab(sales["town"], sales["article"], normalize="index")
flipped = table.T
""",
    "selection": """
big = sales[(sales["price"] > 10) & sales["town"].isin(["Ulm", "Hof"])].copy()
big["total"] = big["price"] * big["number"]
big.loc[big["total"] > 90, "total"] = 90.0
part = big.loc[big["number"] >= 3, ["town", "total"]].nlargest(5, "total").reset_index(drop=True)
one = part.iloc[0]["total"]
some = sales.iloc[3:9]
middle = sales.loc[:, ["price", "number"]].iloc[10:]
limits = sales.query("price > 5 and number < 4").drop(columns=["day"])
least = sales.sort_values(["town", "price"], ascending=[True, False]).drop_duplicates("town", keep="last")
big["total"] += 1
""",
    "windows": """
daily = sales.assign(day=pd.to_datetime(sales["day"])).set_index("day")["price"].interpolate()
smooth = daily.rolling(7, min_periods=3).mean().shift(1)
monthly = daily.resample("ME").sum()
growth = monthly.pct_change().fillna(0).cumsum()
peak = monthly.idxmax().strftime("%Y-%m")
sales["gap"] = sales.groupby("town")["number"].diff()
""",
    "texts": """
clean = sales["article"].str.strip().str.lower().str.replace("mug", "cup", regex=False)
kinds = clean.str.split(" ", expand=True)[1].value_counts(normalize=True).to_dict()
reds = clean[clean.str.contains("red", na=False)].str.len().tolist()
label = f"{sales['price'].mean():.2f} of {len(sales)}"
""",
    "dates": """
day = pd.to_datetime(sales["day"], errors="coerce")
sales["month"] = day.dt.month
sales["weekday"] = day.dt.day_name()
weekend = sales[day.dt.dayofweek >= 5]
quarter = sales.groupby(day.dt.to_period("Q"))["price"].agg(["mean", "count"])
span = (day.max() - day.min()).days
""",
    "numbers": """
logs = np.log1p(sales["price"].dropna())
band = pd.cut(sales["price"], bins=[0, 5, 10, 100], labels=["low", "mid", "high"])
kind = np.where(sales["price"] > sales["price"].median(), "dear", "cheap")
q = np.percentile(logs, [25, 75])
summary = {town: round(float(part["price"].max()), 1) for town, part in sales.groupby("town")}
best = sorted(summary.items(), key=lambda item: item[1])[-1][0]
strength = (sales["price"].corr(sales["number"]), sales["price"].std(ddof=0))
""",
    "plots": """
figure, axes = plt.subplots(1, 2, figsize=(8, 4))
totals = sales.groupby("town")["number"].sum()
axes[0].bar(totals.index, totals.values, color="tab:blue", label="number")
axes[0].set_title("Sold"); axes[0].set_ylabel("pieces")
axes[1].scatter(sales["price"], sales["number"], alpha=0.5)
axes[1].axhline(y=4, linestyle="--")
axes[0].legend(loc="upper left")
figure.suptitle("Shop")
figure.tight_layout()
""",
    "current plot": """
picture = plt.figure(figsize=(6, 4))
plt.hist(sales["price"].dropna(), bins=12, edgecolor="black")
plt.title("Prices")
plt.xlabel("EUR")
other, ax = plt.subplots()
sales.groupby("town")["price"].mean().plot(kind="bar", ax=ax)
ax.set_xlabel("town")
""",
    "regression": """
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
known = sales.dropna(subset=["price"])
X_train, X_test, y_train, y_test = train_test_split(known[["price"]], known["number"], test_size=0.25, random_state=0)
model = LinearRegression().fit(X_train, y_train)
quality = r2_score(y_test, model.predict(X_test))
slope, offset = np.polyfit(known["price"], known["number"], 1)
""",
    "clusters": """
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
features = sales[["price", "number"]].fillna(0)
groups = make_pipeline(StandardScaler(), KMeans(n_clusters=3, random_state=0, n_init=5))
labels = groups.fit_predict(features)
sizes = pd.Series(labels).value_counts().sort_index().tolist()
""",
    "functions": '''
def top(table, column="price", n=3):
    """The largest ones."""
    # a remark
    if column not in table.columns: raise KeyError(column)
    for _, part in table.groupby("town"):
        if part[column].isna().all(): continue
    with pd.option_context("display.max_rows", 5):
        found = table.nlargest(n, column)[column].round(1)
    return found.tolist()


best = top(sales)
more = [top(part, n=1)[0] for _, part in sales.groupby("town")]
try:
    top(sales, "weight")
except KeyError as error:
    message = str(error)
''',
}
