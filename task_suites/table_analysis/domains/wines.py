"""Wines of three cultivars: chemistry from a real analysis; vintages, tastings and sales made up around it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

if TYPE_CHECKING:
    from numpy.random import Generator

LOTS = 1200
HOLDOUT = 500
SALES = 3000
HOLDOUT_SHARE = 0.3
"""Share of the real wines that are drawn only into ``holdout_wines``."""

VINTAGES = tuple(range(2015, 2021))
_VINTAGE_SHARES = (0.12, 0.16, 0.18, 0.2, 0.18, 0.16)
_CHEMISTRY = (
    "alcohol", "malic_acid", "magnesium", "total_phenols", "flavanoids", "color_intensity", "hue", "proline",
)  # fmt: skip
_CULTIVARS = ("Barolo", "Grignolino", "Barbera")
_DIGITS = {"magnesium": 0, "proline": 0}
_COUNTRIES = {"Germany": 0.3, "Switzerland": 0.22, "Belgium": 0.18, "Norway": 0.16, "Japan": 0.14}
_CHANNELS = {"restaurant": 0.42, "shop": 0.35, "online": 0.23}
_BASE_PRICE = {"Barolo": 24.0, "Grignolino": 9.0, "Barbera": 11.0}


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """``wines`` (1,200 rows), ``sales`` (3,000) and ``holdout_wines`` (500, all tasted) of a variant."""
    rng = np.random.default_rng(variant)
    real = _real()
    held = rng.random(len(real)) < HOLDOUT_SHARE
    years = dict(zip(VINTAGES, rng.normal(0, 1.5, len(VINTAGES)), strict=True))
    asti = float(rng.choice([-1.2, 1.2]))
    wines = _lots(rng, real[~held], LOTS, "L", years, asti)
    holdout = _lots(rng, real[held], HOLDOUT, "H", years, asti)
    sales = _sales(rng, wines)
    wines["quality"] = wines["quality"].mask(rng.random(LOTS) < 0.1)
    wines["magnesium"] = wines["magnesium"].mask(rng.random(LOTS) < 0.06)
    return {"wines": wines, "sales": sales, "holdout_wines": holdout}


@lru_cache(maxsize=1)
def _real() -> pd.DataFrame:
    from sklearn.datasets import load_wine  # takes a second

    wine = load_wine(as_frame=True).frame
    made: pd.DataFrame = wine[list(_CHEMISTRY)].copy()
    made["cultivar"] = np.array(_CULTIVARS)[wine["target"].to_numpy()]
    return made


def _lots(
    rng: Generator, pool: pd.DataFrame, count: int, letter: str, years: dict[int, float], asti: float
) -> pd.DataFrame:
    """Lots drawn with replacement from ``pool``, smeared a little, and what is made up about them.

    Args:
        rng: the variant's.
        pool: real wines.
        count: how many lots.
        letter: how their ids begin.
        years: points that a vintage adds to the score.
        asti: points that the cellar Asti adds to it.
    """
    lots = _smeared(rng, pool, count)
    vintage = pd.Series(rng.choice(VINTAGES, count, p=_VINTAGE_SHARES))
    in_asti = rng.random(count) > np.where(lots["cultivar"] == "Barolo", 0.72, 0.4)
    shine = (lots["flavanoids"] - 2.0) * 2.2 + (lots["color_intensity"] - 5) * 0.9 + (lots["proline"] - 750) / 220
    own = lots["cultivar"].map({"Barolo": 0.5, "Grignolino": 1.5, "Barbera": 1.0})
    quality = 82 + shine + own + vintage.map(years) + asti * in_asti + rng.normal(0, 2.0, count)
    lots["quality"] = quality.clip(60, 99).round(1)
    price = lots["cultivar"].map(_BASE_PRICE) * np.exp((lots["quality"] - 84) * 0.03 + rng.normal(0, 0.12, count))
    spring = pd.to_datetime((vintage + 1).astype(str) + "-03-01")
    bottled = spring + pd.to_timedelta(rng.integers(0, 400, count), unit="D")
    made = lots.assign(
        lot_id=[f"{letter}{k:04d}" for k in range(1, count + 1)],
        vintage=vintage,
        cellar=np.where(in_asti, "Asti", "Alba"),
        bottled=bottled.dt.strftime("%Y-%m-%d"),
        price_eur=price.round(2),
    )
    return made[["lot_id", "cultivar", "vintage", "cellar", "bottled", *_CHEMISTRY, "quality", "price_eur"]]


def _smeared(rng: Generator, pool: pd.DataFrame, count: int) -> pd.DataFrame:
    lots = pool.sample(count, replace=True, random_state=rng).reset_index(drop=True)
    for column in _CHEMISTRY:
        noise = rng.normal(0, 0.15 * pool[column].std(), count)
        lots[column] = np.maximum(lots[column] + noise, pool[column].min()).round(_DIGITS.get(column, 2))
    return lots


def _sales(rng: Generator, wines: pd.DataFrame) -> pd.DataFrame:
    """Sales of two years: more before Christmas, cheap wine online, large orders with a discount."""
    channel = rng.choice(list(_CHANNELS), SALES, p=list(_CHANNELS.values()))
    fashion = dict(zip(_CULTIVARS, rng.lognormal(0, 0.4, len(_CULTIVARS)), strict=True))
    weight = np.exp(-0.02 * wines["price_eur"].to_numpy()) * wines["cultivar"].map(fashion).to_numpy()
    lot = rng.choice(len(wines), SALES, p=weight / weight.sum())
    season = np.array([6, 6, 7, 8, 8, 7, 6, 5, 8, 10, 13, 16])
    month = rng.choice(12, SALES, p=season / season.sum())
    year = rng.choice([2022, 2023], SALES, p=[0.45, 0.55])
    first = pd.to_datetime(pd.DataFrame({"year": year, "month": month + 1, "day": 1}))
    sold = first + pd.to_timedelta(rng.integers(0, 28, SALES), unit="D")
    typical = pd.Series(channel).map({"restaurant": 5.0, "shop": 7.0, "online": 2.0}).to_numpy()
    bottles = 6 * (1 + rng.poisson(typical * rng.lognormal(0, 0.6, SALES)))
    discount = np.where(bottles >= 36, rng.choice([5.0, 8.0, 10.0, 12.0], SALES), np.nan)
    lot_id = wines["lot_id"].to_numpy()[lot].copy()
    lot_id[rng.random(SALES) < 0.03] = "L9000"
    made = pd.DataFrame(
        {
            "sold_on": sold.dt.strftime("%Y-%m-%d"),
            "lot_id": lot_id,
            "country": rng.choice(list(_COUNTRIES), SALES, p=list(_COUNTRIES.values())),
            "channel": channel,
            "bottles": bottles,
            "discount_pct": discount,
        }
    )
    made = made.sort_values("sold_on", ignore_index=True, kind="stable")
    made.insert(0, "sale_id", [f"S{k:05d}" for k in range(1, SALES + 1)])
    return made


DOMAIN = Domain(
    name="wines",
    title="Wine lots and their sales",
    about=(
        "wines: one row per lot: lot_id, cultivar (Barolo, Grignolino, Barbera), vintage (2015 to 2020), cellar (Alba, "
        "Asti), bottled (YYYY-MM-DD), alcohol (% vol), malic_acid, total_phenols, flavanoids (g/l), magnesium and "
        "proline (mg/l; 6 % of magnesium is missing), color_intensity, hue, quality (score of the tasting panel, up to "
        "100; 10 % of the lots were not tasted), price_eur (list price of a bottle). "
        "sales: one row per sale: sale_id, sold_on (YYYY-MM-DD, 2022 and 2023), lot_id (about 3 % are L9000, which is "
        "not in wines), country, channel (restaurant, shop, online), bottles, discount_pct (off the list price; "
        "missing where there was none). "
        "The chemistry is drawn with replacement from the real wine recognition data, with noise; all the rest, such "
        "as vintage, score, price and sales, is made up."
    ),
    source="scikit-learn 1.9 (PyPI), load_wine: M. Forina et al., PARVUS, from the UCI repository; changed: see about",
    licence="CC-BY-4.0 (data: UCI; the package's code: BSD-3-Clause)",
    tables=tables,
)
