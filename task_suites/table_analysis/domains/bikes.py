"""A city's bike sharing: its stations, nine months of trips, and a year of weather. Generated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

ABOUT = """\
Bike sharing of a made-up city in 2024, in three tables.
stations: one row per station. station_id (text such as S07), name, district, docks (places for bikes), opened (date).
trips: one row per trip, from 2024-03-01 to 2024-11-30. trip_id, started_at (date and time), from_station and
to_station (station_id; to_station is missing where the bike was not brought back to a station), rider (member, casual
or day pass), bike (classic, electric or cargo), minutes (how long the trip took; missing where the lock did not report
it), km (distance ridden, estimated).
weather: one row per day of the whole year 2024. date, temperature (daily mean in degrees Celsius), rain_mm (rain of the
day in mm; missing on days on which the gauge failed), wind_kmh (daily mean wind in km/h)."""

TRIPS = 6000
STATIONS = 42
HOLDOUT_DAYS = 200
DISTRICTS = {
    "Harbour": 0.2,
    "Old Town": 0.22,
    "University": 0.18,
    "Parkside": 0.15,
    "Northgate": 0.14,
    "Millfield": 0.11,
}
PLACES = tuple("Mill Bridge Market Castle Station Garden River Tower Chapel School Canal Oak".split())
WAYS = ("Street", "Square", "Lane", "Gate")
HOURS = {
    "member": [0.3, 0.2, 0.1, 0.1, 0.3, 1, 3, 8, 11, 6, 3, 3, 4, 3.5, 3, 4, 8, 12, 9, 5, 3, 2, 1.2, 0.7],
    "casual": [0.8, 0.5, 0.3, 0.1, 0.1, 0.3, 0.7, 1.5, 2.5, 4, 6, 7.5, 8, 8.5, 9.5, 9, 8, 7, 6, 5, 3.5, 2.5, 1.8, 1.2],
    "day pass": [0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.3, 0.8, 2, 6, 9, 11, 10, 9, 8, 7, 6.5, 5, 4, 3, 2, 1.2, 0.7, 0.4],
}
RIDERS = {"member": 0.6, "casual": 0.26, "day pass": 0.14}
BIKES = {"classic": 0.58, "electric": 0.33, "cargo": 0.09}
SPEED = {"classic": 13.5, "electric": 17.5, "cargo": 11.0}  # km/h
PAUSES = {"member": 1.0, "casual": 1.45, "day pass": 2.1}


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """The tables of a variant: ``stations``, ``trips``, ``weather`` and ``holdout_days`` (days of the year after)."""
    rng = np.random.default_rng(variant)
    stations, positions = _stations(rng)
    weather = _weather(rng, "2024-01-01", 366)
    trips = _trips(rng, stations, positions, weather)
    return {"stations": stations, "trips": trips, "weather": _with_gaps(rng, weather), "holdout_days": _holdout(rng)}


def _stations(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """The stations, and where they are: float64 (stations, 2), km from the centre."""
    names = [f"{place} {way}" for place in PLACES for way in WAYS]
    shares = np.array(list(DISTRICTS.values()))
    # Every district has three stations at least; the rest falls by the shares.
    places = np.concatenate([np.repeat(np.arange(6), 3), rng.choice(6, STATIONS - 18, p=shares)])
    rng.shuffle(places)
    angles = places * np.pi / 3 + rng.normal(0, 0.25, STATIONS)
    distances = np.where(places == 1, 0.6, 2.4) * rng.lognormal(0, 0.25, STATIONS)
    frame = pd.DataFrame(
        {
            "station_id": [f"S{k:02d}" for k in range(1, STATIONS + 1)],
            "name": rng.permutation(names)[:STATIONS],
            "district": np.array(list(DISTRICTS))[places],
            "docks": rng.choice([12, 16, 20, 24, 30, 36], STATIONS, p=[0.2, 0.25, 0.2, 0.15, 0.12, 0.08]),
            "opened": _dates("2017-04-01", rng.integers(0, 2300, STATIONS)),
        }
    )
    return frame, np.column_stack([distances * np.cos(angles), distances * np.sin(angles)])


def _dates(first: str, days: np.ndarray) -> np.ndarray:
    """ISO dates, so many days after the first."""
    return (np.datetime64(first) + days.astype("timedelta64[D]")).astype(str)


def _weather(rng: np.random.Generator, first: str, days: int) -> pd.DataFrame:
    season = -np.cos((np.arange(days) - 20) / 365.25 * 2 * np.pi)
    slow = np.convolve(rng.normal(0, 3.2, days + 4), np.full(5, 0.45), mode="valid")
    wet = rng.random(days) < 0.38
    rain = np.where(wet, rng.gamma(0.9, 5.5, days) + 0.2, 0.0)
    return pd.DataFrame(
        {
            "date": _dates(first, np.arange(days)),
            "temperature": np.round(11.5 + 9 * season + slow - 1.5 * wet, 1),
            "rain_mm": np.round(rain, 1),
            "wind_kmh": np.round(rng.gamma(5, 2.6, days) + 3 * wet, 1),
        }
    )


def _demand(weather: pd.DataFrame) -> np.ndarray:
    """Trips to be expected, by day, not to scale."""
    weekend = pd.to_datetime(weather["date"]).dt.day_of_week >= 5
    rain = np.minimum(weather["rain_mm"].to_numpy(), 15)
    expected = 9 + 1.05 * weather["temperature"].to_numpy() - 0.95 * rain - 0.05 * weather["wind_kmh"].to_numpy()
    return np.asarray(np.maximum(expected, 2.5) * np.where(weekend, 0.72, 1.0))


def _trips(
    rng: np.random.Generator, stations: pd.DataFrame, positions: np.ndarray, weather: pd.DataFrame
) -> pd.DataFrame:
    season = weather[weather["date"].between("2024-03-01", "2024-11-30")]
    demand = _demand(season)
    day = np.sort(rng.choice(len(season), TRIPS, p=demand / demand.sum()))
    rider = rng.choice(list(RIDERS), TRIPS, p=list(RIDERS.values()))
    bike = rng.choice(list(BIKES), TRIPS, p=list(BIKES.values()))
    start, end = _routes(rng, stations, rider)
    hours = np.zeros(TRIPS, dtype=int)
    for kind, weights in HOURS.items():
        chosen = rider == kind
        hours[chosen] = rng.choice(24, int(chosen.sum()), p=np.array(weights) / sum(weights))
    seconds = hours * 3600 + rng.integers(0, 3600, TRIPS)
    started = season["date"].to_numpy(dtype="datetime64[s]")[day] + seconds.astype("timedelta64[s]")
    order = np.argsort(started, kind="stable")
    km = np.hypot(*(positions[start] - positions[end]).T) * 1.3 * rng.lognormal(0, 0.12, TRIPS)
    km = np.round(np.where(start == end, rng.gamma(2, 1.6, TRIPS), km) + 0.3, 2)
    speed = pd.Series(bike).map(SPEED).to_numpy() * rng.lognormal(0, 0.16, TRIPS)
    minutes = np.round(km / speed * 60 * pd.Series(rider).map(PAUSES).to_numpy() + rng.gamma(1.4, 2, TRIPS), 1)
    ids = stations["station_id"].to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "trip_id": np.arange(100001, 100001 + TRIPS),
            "started_at": np.char.replace(started[order].astype(str), "T", " "),
            "from_station": ids[start][order],
            "to_station": np.where(rng.random(TRIPS) < 0.012, None, ids[end])[order],
            "rider": rider[order],
            "bike": bike[order],
            "minutes": np.where(rng.random(TRIPS) < 0.025, np.nan, minutes)[order],
            "km": km[order],
        }
    )


def _routes(rng: np.random.Generator, stations: pd.DataFrame, rider: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Station numbers where the trips begin and end; day passes begin in the Old Town and at the Harbour."""
    pull = stations["docks"].to_numpy() * rng.lognormal(0, 0.5, STATIONS)
    central = stations["district"].isin(["Old Town", "Harbour"]).to_numpy()
    drift = pull * rng.lognormal(0, 0.3, STATIONS) * np.where(central, 1.3, 0.9)
    start, end = np.zeros(TRIPS, dtype=int), np.zeros(TRIPS, dtype=int)
    for kind, more in (("member", 1.0), ("casual", 1.5), ("day pass", 3.5)):
        chosen = rider == kind
        for stops, weights in ((start, pull), (end, drift)):
            weights = weights * np.where(central, more, 1.0)
            stops[chosen] = rng.choice(STATIONS, int(chosen.sum()), p=weights / weights.sum())
    return start, end


def _with_gaps(rng: np.random.Generator, weather: pd.DataFrame) -> pd.DataFrame:
    gaps = rng.random(len(weather)) < 0.03
    return weather.assign(rain_mm=weather["rain_mm"].mask(gaps))


def _holdout(rng: np.random.Generator) -> pd.DataFrame:
    """Days of 2025, with the number of trips of each on bikes of each kind."""
    days = _weather(rng, "2025-03-01", 275).sample(HOLDOUT_DAYS, random_state=rng).sort_values("date")
    demand = _demand(days)
    weekend = (pd.to_datetime(days["date"]).dt.day_of_week >= 5).astype(int)
    counts = {bike: rng.poisson(demand * 1.08 * share) for bike, share in BIKES.items()}
    return days.assign(weekend=weekend, **counts).reset_index(drop=True)


DOMAIN = Domain(
    name="bikes",
    title="Bike sharing",
    about=ABOUT,
    source="generated by deskgym; no real city, station or person",
    licence="Apache-2.0",
    tables=tables,
)
