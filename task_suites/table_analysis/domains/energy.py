"""Electricity use of a utility's households: smart meters, yearly use, and tariffs. Generated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

ABOUT = """\
Electricity use of a utility's households, in three tables.
households: one row per household. household_id (text such as H0042), region, dwelling (flat, terraced or detached),
residents (number of people), floor_area (square metres; missing where the owner did not tell), heating (gas, district
or heat pump), solar (1 with solar panels, else 0), tariff (name, as in tariffs), annual_kwh (use of the year 2023 in
kWh).
readings: smart meters of a sample of the households, six readings a day from 2024-01-08 to 2024-01-28. household_id,
date, hour (0, 4, 8, 12, 16 or 20: when the four hours begin that the reading covers), kwh (used in these four hours;
missing where the meter was offline).
tariffs: one row per tariff. tariff, day_ct and night_ct (price of a kWh in cents by day and by night; night is from
0:00 to 8:00, so the readings of hours 0 and 4), standing_eur (fixed price of a month in euros)."""

HOUSEHOLDS = 600
HOLDOUT = 250
METERED = 40
DAYS = 21
HOURS = (0, 4, 8, 12, 16, 20)
DWELLINGS = {"flat": 0.48, "terraced": 0.3, "detached": 0.22}
AREA = {"flat": 68.0, "terraced": 105.0, "detached": 148.0}  # square metres
HEATING = {"flat": [0.45, 0.45, 0.1], "terraced": [0.55, 0.2, 0.25], "detached": [0.45, 0.05, 0.5]}
HEATINGS = ("gas", "district", "heat pump")
REGIONS = {"North": 0.3, "Coast": 0.25, "Valley": 0.25, "Hills": 0.2}
TARIFFS = {"Basic": 0.36, "Night Saver": 0.22, "Green": 0.2, "Family": 0.14, "Flex": 0.08}
RESIDENTS = {
    "flat": [0.42, 0.35, 0.15, 0.08, 0, 0],
    "terraced": [0.1, 0.35, 0.25, 0.2, 0.1, 0],
    "detached": [0.06, 0.3, 0.24, 0.24, 0.12, 0.04],
}
PROFILE = {"flat": [0.5, 0.6, 0.95, 1.0, 1.6, 1.35], "terraced": [0.55, 0.65, 1.05, 1.1, 1.55, 1.1]}
PROFILE["detached"] = [0.65, 0.75, 1.1, 1.2, 1.45, 0.95]
HEAT_PUMP_PROFILE = [1.15, 1.3, 1.0, 0.75, 0.85, 0.95]


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """The tables of a variant: ``households``, ``readings``, ``tariffs`` and ``holdout_households`` (others)."""
    rng = np.random.default_rng(variant)
    everyone = _households(rng, HOUSEHOLDS + HOLDOUT)
    households, holdout = everyone.iloc[:HOUSEHOLDS], everyone.iloc[HOUSEHOLDS:]
    unknown = rng.random(HOUSEHOLDS) < 0.08
    return {
        "households": households.assign(floor_area=households["floor_area"].mask(unknown)),
        "readings": _readings(rng, households),
        "tariffs": _tariffs(rng),
        "holdout_households": holdout.reset_index(drop=True),
    }


def _households(rng: np.random.Generator, count: int) -> pd.DataFrame:
    dwelling = rng.choice(list(DWELLINGS), count, p=list(DWELLINGS.values()))
    residents, heating = np.zeros(count, dtype=int), np.empty(count, dtype=object)
    for kind in DWELLINGS:
        chosen = dwelling == kind
        residents[chosen] = rng.choice(6, int(chosen.sum()), p=RESIDENTS[kind]) + 1
        heating[chosen] = rng.choice(HEATINGS, int(chosen.sum()), p=HEATING[kind])
    typical = pd.Series(dwelling).map(AREA).to_numpy()
    area = np.round(typical * rng.lognormal(0, 0.2, count) + 5 * (residents - 2))
    solar = (rng.random(count) < np.where(dwelling == "flat", 0.03, 0.28)).astype(int)
    use = 420 + 540 * residents + 7.5 * area + np.where(heating == "heat pump", 900 + 16 * area, 0.0)
    use = use * np.where(solar == 1, 0.78, 1.0) * rng.lognormal(0, 0.17, count)
    return pd.DataFrame(
        {
            "household_id": [f"H{k:04d}" for k in range(1, count + 1)],
            "region": rng.choice(list(REGIONS), count, p=list(REGIONS.values())),
            "dwelling": dwelling,
            "residents": residents,
            "floor_area": np.maximum(area, 24),
            "heating": heating,
            "solar": solar,
            "tariff": rng.choice(list(TARIFFS), count, p=list(TARIFFS.values())),
            "annual_kwh": np.round(use).astype(int),
        }
    )


def _readings(rng: np.random.Generator, households: pd.DataFrame) -> pd.DataFrame:
    """One row per metered household, day and hour, in this order."""
    sample = households.groupby("dwelling").sample(METERED // 4, random_state=rng)
    rest = households.drop(sample.index).sample(METERED - len(sample), random_state=rng)
    sample = pd.concat([sample, rest]).sort_values("household_id")
    shape = np.array(
        [
            HEAT_PUMP_PROFILE if heating == "heat pump" else PROFILE[dwelling]
            for dwelling, heating in zip(sample["dwelling"], sample["heating"], strict=True)
        ]
    )
    shape = shape * rng.lognormal(0, 0.18, shape.shape)
    dates = np.datetime64("2024-01-08") + np.arange(DAYS)
    weekend = pd.DatetimeIndex(dates).day_of_week >= 5
    cold = 1 + 0.16 * np.sin(np.arange(DAYS) / DAYS * 2 * np.pi) + rng.normal(0, 0.05, DAYS)
    days = np.outer(cold, np.ones(6)) * np.where(weekend[:, None], [1.1, 0.95, 1.25, 1.3, 1.05, 1.0], 1.0)
    level = sample["annual_kwh"].to_numpy() / 365 / 6 * 1.15
    kwh = level[:, None, None] * shape[:, None, :] * days[None] * rng.lognormal(0, 0.28, (METERED, DAYS, 6))
    offline = rng.random(kwh.shape) < 0.015
    return pd.DataFrame(
        {
            "household_id": np.repeat(sample["household_id"].to_numpy(dtype=object), DAYS * 6),
            "date": np.tile(np.repeat(dates.astype(str), 6), METERED),
            "hour": np.tile(HOURS, METERED * DAYS),
            "kwh": np.where(offline, np.nan, np.round(kwh, 3)).ravel(),
        }
    )


def _tariffs(rng: np.random.Generator) -> pd.DataFrame:
    day = np.array([31.0, 34.0, 33.0, 29.5, 35.5]) + np.round(rng.uniform(-1.2, 1.2, 5), 1)
    less = np.array([0.0, 11.0, 4.0, 1.5, 14.0]) + np.round(rng.uniform(0, 1, 5), 1) * [0, 1, 1, 1, 1]
    return pd.DataFrame(
        {
            "tariff": list(TARIFFS),
            "day_ct": np.round(day, 1),
            "night_ct": np.round(day - less, 1),
            "standing_eur": np.round(np.array([9.0, 10.5, 8.0, 14.5, 6.5]) + rng.uniform(-1, 1, 5), 2),
        }
    )


DOMAIN = Domain(
    name="energy",
    title="Smart meters and tariffs",
    about=ABOUT,
    source="generated by deskgym; no real utility or household",
    licence="Apache-2.0",
    tables=tables,
)
