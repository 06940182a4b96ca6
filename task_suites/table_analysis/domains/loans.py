"""A lender's consumer loans: applications, the loans granted, their instalments. Generated; no real person."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

ABOUT = """\
Consumer loans of a made-up lender, as of 31 December 2024. `applications`: application_id, applied (ISO date, July \
2023 to December 2024), age in years, employment (employee, self-employed, retired, student, unemployed), income in \
euros a month (missing where it was not given), score (credit bureau, 300 worst to 850 best; missing where the bureau \
knows nobody), region (North, East, South, West, Centre), purpose, amount in euros, term in months, decision \
(approved, declined, withdrawn). `loans`: one row per approved application: loan_id, application_id, granted (ISO \
date), rate in percent a year, defaulted (1 or 0). `repayments`: one row per instalment that has fallen due: loan_id, \
instalment (1, 2, ...), due_date (ISO), due in euros, paid in euros (missing where nothing was paid), days_late (0 is \
on time; missing where nothing was paid)."""

_EMPLOYMENT = {"employee": 0.58, "self-employed": 0.16, "retired": 0.13, "student": 0.08, "unemployed": 0.05}
_INCOME = {"employee": 2900, "self-employed": 3300, "retired": 1900, "student": 950, "unemployed": 1050}
_STRAIN = {"employee": 0.0, "self-employed": 0.55, "retired": -0.2, "student": 0.5, "unemployed": 1.1}
_REGION = {"North": 0.22, "East": 0.18, "South": 0.24, "West": 0.21, "Centre": 0.15}
_PURPOSE = {"car": 0.29, "furniture": 0.20, "refinancing": 0.19, "education": 0.10, "holiday": 0.11, "other": 0.11}
_AMOUNT = {"car": 9500, "furniture": 3200, "refinancing": 7800, "education": 5200, "holiday": 2600, "other": 4000}
_TERMS, _TERM_SHARES = (12, 24, 36, 48), (0.22, 0.34, 0.28, 0.16)
_APPLICATIONS, _HOLDOUT = 2450, 500
_FIRST, _LAST = np.datetime64("2023-07-01"), np.datetime64("2024-12-31")


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """The tables of a variant; ``holdout_loans`` are granted loans with what was known and what became of them."""
    rng = np.random.default_rng(variant)
    applications = _applications(rng, _APPLICATIONS)
    granted = applications[applications["decision"] == "approved"]
    loans = _loans(rng, granted)
    more = _applications(rng, 3 * _HOLDOUT)
    more = more[more["decision"] == "approved"].iloc[:_HOLDOUT]
    return {
        "applications": applications.drop(columns=["risk", "burden"]),
        "loans": loans,
        "repayments": _repayments(rng, loans, granted),
        "holdout_loans": _holdout(_loans(rng, more), more),
    }


def _draw(rng: np.random.Generator, shares: dict[str, float], count: int) -> np.ndarray:
    return rng.choice(list(shares), count, p=list(shares.values()))


def _of(values: Mapping[str, float], names: np.ndarray) -> np.ndarray:
    """The value of each name."""
    return np.array([values[name] for name in names], dtype=float)


def _applications(rng: np.random.Generator, count: int) -> pd.DataFrame:
    employment = _draw(rng, _EMPLOYMENT, count)
    purpose = _draw(rng, _PURPOSE, count)
    age = np.clip(rng.normal(41, 11, count), 19, 78)
    age[employment == "retired"] = np.clip(rng.normal(69, 5, int((employment == "retired").sum())), 58, 84)
    age[employment == "student"] = np.clip(rng.normal(24, 3, int((employment == "student").sum())), 18, 35)
    income = _of(_INCOME, employment) * rng.lognormal(0, 0.33, count)
    score = np.clip(rng.normal(640, 75, count) + 25 * np.log(income / 2500) + 0.8 * (age - 41), 300, 850).round()
    amount = (_of(_AMOUNT, purpose) * rng.lognormal(0, 0.5, count) / 100).round() * 100 + 500
    term = rng.choice(_TERMS, count, p=_TERM_SHARES)
    burden = amount / term / income
    risk = -1.9 - (score - 640) / 55 + 5.0 * (burden - 0.12) + _of(_STRAIN, employment)
    return pd.DataFrame(
        {
            "application_id": np.arange(50001, 50001 + count),
            "applied": np.datetime_as_string(_dates(rng, count)),
            "age": age.astype(int),
            "employment": employment,
            "income": _missing(rng, income.round(-1), 0.06),
            "score": _missing(rng, score, 0.08),
            "region": _draw(rng, _REGION, count),
            "purpose": purpose,
            "amount": amount,
            "term": term,
            "decision": _decisions(rng, risk),
            "risk": risk,
            "burden": burden,
        }
    )


def _dates(rng: np.random.Generator, count: int) -> np.ndarray:
    """Sorted days of application, a little more of them towards the end; the last is decided by ``_LAST``."""
    days = int((_LAST - _FIRST).astype(int)) - 14
    return np.sort(_FIRST + (days * rng.random(count) ** 0.9).astype("timedelta64[D]"))


def _missing(rng: np.random.Generator, values: np.ndarray, share: float) -> np.ndarray:
    return np.where(rng.random(len(values)) < share, np.nan, values)


def _decisions(rng: np.random.Generator, risk: np.ndarray) -> np.ndarray:
    declined = risk + rng.normal(0, 0.9, len(risk)) > -1.0
    withdrawn = rng.random(len(risk)) < 0.09
    return np.select([withdrawn, declined], ["withdrawn", "declined"], "approved")


def _loans(rng: np.random.Generator, granted: pd.DataFrame) -> pd.DataFrame:
    count = len(granted)
    risk = granted["risk"].to_numpy()
    applied = granted["applied"].to_numpy().astype("datetime64[D]")
    rate = np.clip(8.6 + 0.9 * risk + rng.normal(0, 0.6, count), 2.9, 14.9).round(2)
    return pd.DataFrame(
        {
            "loan_id": np.arange(1001, 1001 + count),
            "application_id": granted["application_id"].to_numpy(),
            "granted": np.datetime_as_string(applied + rng.integers(2, 15, count)),
            "rate": rate,
            "defaulted": (rng.random(count) < 1 / (1 + np.exp(-(1.25 * risk + 1.5)))).astype(int),
        }
    )


def _repayments(rng: np.random.Generator, loans: pd.DataFrame, granted: pd.DataFrame) -> pd.DataFrame:
    """The instalments that fell due by the last day, on the same day of each month, at the latest on the 28th."""
    start = loans["granted"].to_numpy().astype("datetime64[D]")
    month = start.astype("datetime64[M]")
    day = np.minimum((start - month).astype(int), 27)
    term = granted["term"].to_numpy()
    number = np.arange(1, max(_TERMS) + 1)
    due_date = (month[:, None] + number[None, :]).astype("datetime64[D]") + day[:, None]
    loan, column = np.nonzero((due_date <= _LAST) & (number[None, :] <= term[:, None]))
    monthly = loans["rate"].to_numpy() / 1200
    instalment = (granted["amount"].to_numpy() * monthly / (1 - (1 + monthly) ** -term)).round(2)[loan]
    paid, late = _payments(rng, loans["defaulted"].to_numpy()[loan] == 1, column + 1, loan, instalment)
    return pd.DataFrame(
        {
            "loan_id": loans["loan_id"].to_numpy()[loan],
            "instalment": column + 1,
            "due_date": np.datetime_as_string(due_date[loan, column]),
            "due": instalment,
            "paid": paid,
            "days_late": late,
        }
    )


def _payments(
    rng: np.random.Generator, bad: np.ndarray, number: np.ndarray, loan: np.ndarray, due: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What was paid for each instalment and how late; loans that default stop after some instalments."""
    stops = 1 + rng.geometric(0.16, int(loan.max()) + 1)[loan]
    nothing = (rng.random(len(due)) < 0.015) | (bad & (number >= stops))
    part = rng.random(len(due)) < np.where(bad, 0.10, 0.02)
    paid = np.where(part, due * rng.uniform(0.3, 0.9, len(due)), due).round(2)
    chance = np.where(bad, 0.45, 0.14)
    late = np.where(rng.random(len(due)) < chance, np.ceil(rng.gamma(1.6, 5.5, len(due))), 0)
    return np.where(nothing, np.nan, paid), np.where(nothing, np.nan, late)


def _holdout(loans: pd.DataFrame, granted: pd.DataFrame) -> pd.DataFrame:
    known = granted[["age", "employment", "income", "score", "purpose", "amount", "term"]].reset_index(drop=True)
    return pd.concat([known, loans[["rate", "defaulted"]]], axis=1)


DOMAIN = Domain(
    name="loans",
    title="Consumer loans and how they are paid back",
    about=ABOUT,
    source="generated by this module with numpy's default_rng(variant)",
    licence="Apache-2.0",
    tables=tables,
)
