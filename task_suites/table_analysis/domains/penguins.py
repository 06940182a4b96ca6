"""Penguins of the Palmer Archipelago: birds from real measurements, nests made up around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from palmerpenguins import load_penguins_raw

from deskgym.task_suites.table_analysis.domains import Domain

if TYPE_CHECKING:
    from numpy.random import Generator

NESTS = 620
NESTS_WITHOUT_BIRDS = 50
HOLDOUT_SHARE = 0.25
"""Share of the real birds that are drawn only into ``holdout_penguins``."""

_NAMES = {
    "Species": "species",
    "Island": "island",
    "Date Egg": "egg_date",
    "Culmen Length (mm)": "bill_length_mm",
    "Culmen Depth (mm)": "bill_depth_mm",
    "Flipper Length (mm)": "flipper_length_mm",
    "Body Mass (g)": "body_mass_g",
    "Sex": "sex",
}
_COLUMNS = (
    "bird_id", "nest_id", "species", "island", "year", "bill_length_mm", "bill_depth_mm", "flipper_length_mm",
    "body_mass_g", "sex",
)  # fmt: skip
_NOISE = {"bill_length_mm": 0.4, "bill_depth_mm": 0.2, "flipper_length_mm": 1.2, "body_mass_g": 40.0}
_MISSING = {"bill_length_mm": 0.02, "bill_depth_mm": 0.02, "flipper_length_mm": 0.02, "body_mass_g": 0.05, "sex": 0.04}
_DISTANCE = {"Adelie": 90.0, "Chinstrap": 130.0, "Gentoo": 160.0}


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """``penguins`` (about 1,060 rows), ``nests`` (620) and ``holdout_penguins`` (400) of a variant.

    The nests are filled with pairs that are drawn with replacement from the real birds, of one species, island and
    season each; a little noise makes each bird one of its own.
    """
    rng = np.random.default_rng(variant)
    real = _real()
    held = rng.random(len(real)) < HOLDOUT_SHARE
    nests, birds = _pairs(rng, real[~held].reset_index(drop=True))
    holdout = _noisy(rng, real[held].sample(400, replace=True, random_state=rng))
    holdout["bird_id"] = [f"H{k:04d}" for k in range(1, len(holdout) + 1)]
    columns = [name for name in _COLUMNS if name != "nest_id"]
    return {"penguins": birds, "nests": nests, "holdout_penguins": holdout[columns].reset_index(drop=True)}


def _real() -> pd.DataFrame:
    raw = load_penguins_raw().rename(columns=_NAMES)[list(_NAMES.values())].dropna()
    raw["species"] = raw["species"].str.split().str[0]
    raw["sex"] = raw["sex"].str.lower()
    raw["year"] = raw["egg_date"].str[:4].astype(int)
    return raw.reset_index(drop=True)


def _pairs(rng: Generator, pool: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The nests, and the birds measured at them: both of a pair, one of them, or none."""
    first = rng.integers(len(pool), size=NESTS)
    nests = pool.loc[first, ["species", "island", "year", "egg_date"]].reset_index(drop=True)
    nests["nest_id"] = [f"N{k:03d}" for k in range(1, NESTS + 1)]
    groups = pool.groupby(["species", "island", "year", "sex"]).indices
    chosen: list[int] = []
    where: list[int] = []
    for nest, (species, island, year) in enumerate(nests[["species", "island", "year"]].itertuples(index=False)):
        for sex in ("female", "male"):
            if nest >= NESTS_WITHOUT_BIRDS and rng.random() < 0.93:
                chosen.append(int(rng.choice(groups[(species, island, year, sex)])))
                where.append(nest)
    birds = _noisy(rng, pool.loc[chosen])
    birds["nest_id"] = nests["nest_id"].to_numpy()[where]
    outcome = _outcome(rng, nests)
    birds = birds.sample(frac=1, random_state=rng).reset_index(drop=True)
    birds["bird_id"] = [f"B{k:04d}" for k in range(1, len(birds) + 1)]
    return outcome.sample(frac=1, random_state=rng).sort_values("nest_id", ignore_index=True), _blank(
        rng, birds[list(_COLUMNS)]
    )


def _outcome(rng: Generator, nests: pd.DataFrame) -> pd.DataFrame:
    """Nests near the sea and with early eggs fledge more chicks."""
    days = pd.to_datetime(nests["egg_date"])
    shifted = days + pd.to_timedelta(rng.integers(-2, 3, len(nests)), unit="D")
    typical = nests["species"].map(_DISTANCE).to_numpy()
    distance = np.clip(rng.gamma(4.0, typical / 4.0), 5, 395).round()
    late = (shifted.dt.day_of_year - 325).to_numpy() / 10
    chance = 1 / (1 + np.exp(0.006 * (distance - 160) + 0.6 * late))
    clutch = np.where(rng.random(len(nests)) < 0.88, 2, 1)
    chicks = rng.binomial(clutch, chance).astype(float)
    chicks[rng.random(len(nests)) < 0.07] = np.nan
    return pd.DataFrame(
        {
            "nest_id": nests["nest_id"],
            "island": nests["island"],
            "year": nests["year"],
            "egg_date": shifted.dt.strftime("%Y-%m-%d"),
            "distance_m": distance.astype(int),
            "clutch_size": clutch,
            "chicks_fledged": chicks,
        }
    )


def _noisy(rng: Generator, birds: pd.DataFrame) -> pd.DataFrame:
    made = birds.reset_index(drop=True).copy()
    for column, spread in _NOISE.items():
        digits = 1 if spread < 1 else 0
        made[column] = (made[column] + rng.normal(0, spread, len(made))).round(digits)
    return made


def _blank(rng: Generator, birds: pd.DataFrame) -> pd.DataFrame:
    made = birds.copy()
    for column, share in _MISSING.items():
        made[column] = made[column].mask(rng.random(len(made)) < share)
    return made


DOMAIN = Domain(
    name="penguins",
    title="Penguins near Palmer Station",
    about=(
        "penguins: one row per measured bird: bird_id, nest_id, species (Adelie, Chinstrap, Gentoo), island (Biscoe, "
        "Dream, Torgersen), year (season: 2007 to 2009), bill_length_mm, bill_depth_mm, flipper_length_mm, body_mass_g,"
        " sex (female, male). 2 to 5 % of the measurements and of sex are missing. "
        "nests: one row per nest: nest_id, island, year, egg_date (date of the first egg, YYYY-MM-DD), distance_m "
        "(metres to the sea), clutch_size (eggs, 1 or 2), chicks_fledged (0 to clutch_size; missing where nobody "
        "looked again). A nest has at most one female and one male in penguins; at some nests no bird was measured. "
        "The birds are drawn with replacement from the real Palmer penguins, with a little noise added; ids, nests' "
        "distances and chicks are made up."
    ),
    source="palmerpenguins 0.1.6 (PyPI): data of K. B. Gorman and Palmer Station LTER, by A. Horst, A. Hill, K. Gorman",
    licence="CC0-1.0 (the package's code: MIT)",
    tables=tables,
)
