"""Hospital stays of one year: wards, patients, diagnoses, admissions and what they cost. Generated; no real person."""

from __future__ import annotations

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

ABOUT = """\
Stays at a made-up hospital in 2024. `wards` (8 rows): ward, floor, beds, nurses. `patients`: patient_id, birth_year, \
sex (f, m), insurance (public, private, none), smoker (yes, no, missing where nobody asked), distance_km from home. \
`diagnoses`: diagnosis (code), diagnosis_group, title. `admissions`: admission_id, patient_id, ward, diagnosis, \
admitted and discharged (ISO dates; discharged is missing for those who were still there on 31 December), emergency \
(True, False), severity (1 mild to 4 critical). `costs`: one line per admission and item: admission_id, item (bed, \
drugs, tests, surgery), amount in euros (missing where the bill is not in yet). No line means that there was nothing \
of that item. A patient may have several admissions."""

# ward: floor, beds, nurses, mean nights, price of a night in euros, share of all admissions, winter peak
_WARDS = {
    "Cardiology": (2, 10, 14, 5.5, 410, 0.15, 0.15),
    "Geriatrics": (3, 12, 13, 9.0, 290, 0.11, 0.35),
    "Internal medicine": (1, 14, 17, 6.0, 320, 0.18, 0.50),
    "Maternity": (4, 6, 9, 3.5, 350, 0.12, 0.00),
    "Neurology": (2, 10, 12, 7.0, 390, 0.10, 0.05),
    "Orthopaedics": (3, 10, 11, 6.5, 340, 0.12, 0.20),
    "Paediatrics": (4, 7, 10, 3.0, 360, 0.10, 0.40),
    "Surgery": (1, 9, 16, 5.0, 430, 0.12, 0.00),
}

# diagnosis: group, title, ward, share within the ward
_DIAGNOSES = {
    "I21": ("circulatory", "Heart attack", "Cardiology", 0.35),
    "I50": ("circulatory", "Heart failure", "Cardiology", 0.65),
    "F05": ("nervous", "Acute confusion", "Geriatrics", 0.40),
    "I63": ("circulatory", "Stroke", "Geriatrics", 0.60),
    "J18": ("respiratory", "Pneumonia", "Internal medicine", 0.45),
    "J44": ("respiratory", "Chronic lung disease", "Internal medicine", 0.30),
    "E11": ("metabolic", "Diabetes", "Internal medicine", 0.25),
    "O80": ("pregnancy", "Normal birth", "Maternity", 0.70),
    "O82": ("pregnancy", "Caesarean section", "Maternity", 0.30),
    "G40": ("nervous", "Epilepsy", "Neurology", 0.55),
    "G20": ("nervous", "Parkinson's disease", "Neurology", 0.45),
    "S72": ("injury", "Broken hip", "Orthopaedics", 0.50),
    "S82": ("injury", "Broken leg", "Orthopaedics", 0.50),
    "J20": ("respiratory", "Bronchitis", "Paediatrics", 0.60),
    "S06": ("injury", "Concussion", "Paediatrics", 0.40),
    "K35": ("digestive", "Appendicitis", "Surgery", 0.40),
    "K80": ("digestive", "Gallstones", "Surgery", 0.60),
}
_OPERATED = {"S72": 0.9, "S82": 0.6, "K35": 0.95, "K80": 0.7, "O82": 1.0, "I21": 0.4}  # share with surgery
_PATIENTS, _ADMISSIONS, _HOLDOUT = 3000, 4000, 400
_FIRST_ID = 10001
_FIRST, _LAST = np.datetime64("2024-01-01"), np.datetime64("2024-12-31")


def tables(variant: int) -> dict[str, pd.DataFrame]:
    """The tables of a variant; ``holdout_stays`` are finished stays with the euros per item, for models."""
    rng = np.random.default_rng(variant)
    patients = _patients(rng)
    stays = _by_date(_stays(rng, patients))
    bills = _bills(rng, stays)
    return {
        "wards": _wards(rng),
        "patients": patients.drop(columns="frailty"),
        "diagnoses": _diagnoses(),
        "admissions": _admissions(stays.iloc[:_ADMISSIONS]),
        "costs": _costs(rng, bills.iloc[:_ADMISSIONS]),
        "holdout_stays": _holdout(stays.iloc[_ADMISSIONS:], bills.iloc[_ADMISSIONS:]),
    }


def _wards(rng: np.random.Generator) -> pd.DataFrame:
    columns = pd.DataFrame.from_dict(_WARDS, orient="index").iloc[:, :3]
    columns.columns = ["floor", "beds", "nurses"]
    columns["beds"] += rng.integers(-1, 2, len(columns))
    return columns.rename_axis("ward").reset_index()


def _diagnoses() -> pd.DataFrame:
    rows = [(code, group, title) for code, (group, title, *_) in sorted(_DIAGNOSES.items())]
    return pd.DataFrame(rows, columns=["diagnosis", "diagnosis_group", "title"])


def _patients(rng: np.random.Generator) -> pd.DataFrame:
    birth_year = 2024 - np.clip(rng.normal(52, 24, _PATIENTS), 0, 98).astype(int)
    smoker = rng.choice(["yes", "no"], _PATIENTS, p=[0.24, 0.76]).astype(object)
    smoker[rng.random(_PATIENTS) < 0.12] = None
    return pd.DataFrame(
        {
            "patient_id": np.arange(1, _PATIENTS + 1),
            "birth_year": birth_year,
            "sex": rng.choice(["f", "m"], _PATIENTS, p=[0.53, 0.47]),
            "insurance": rng.choice(["public", "private", "none"], _PATIENTS, p=[0.81, 0.16, 0.03]),
            "smoker": smoker,
            "distance_km": rng.gamma(1.6, 7.0, _PATIENTS).round(1),
            "frailty": rng.gamma(2.0, 0.5, _PATIENTS),
        }
    )


def _stays(rng: np.random.Generator, patients: pd.DataFrame) -> pd.DataFrame:
    """All stays, the last ``_HOLDOUT`` of them for the holdout table."""
    count = _ADMISSIONS + _HOLDOUT
    frailty = patients["frailty"].to_numpy()
    patient = rng.choice(_PATIENTS, count, p=frailty / frailty.sum())
    codes = np.array(list(_DIAGNOSES))
    home = [_DIAGNOSES[code][2] for code in codes]
    busy = dict(zip(_WARDS, rng.uniform(0.8, 1.2, len(_WARDS)), strict=True))
    share = np.array([busy[ward] * _WARDS[ward][5] * _DIAGNOSES[c][3] for c, ward in zip(codes, home, strict=True)])
    diagnosis = rng.choice(len(codes), count, p=share / share.sum())
    ward = np.array(home)[diagnosis]
    moved = rng.random(count) < 0.06
    ward[moved] = rng.choice(list(_WARDS), int(moved.sum()))
    age = 2024 - patients["birth_year"].to_numpy()[patient]
    severity = np.clip(np.round(0.9 + 0.012 * age + 0.35 * frailty[patient] + rng.normal(0, 0.7, count)), 1, 4)
    mean = np.array([_WARDS[name][3] for name in ward]) * (0.55 + 0.22 * severity)
    nights = np.floor(rng.gamma(2.0, mean / 2)).astype(int)
    admitted = _FIRST + _days(rng, np.array([_WARDS[name][6] for name in ward]))
    return pd.DataFrame(
        {
            "patient_id": patient + 1,
            "ward": ward,
            "diagnosis": codes[diagnosis],
            "admitted": admitted,
            "nights": nights,
            "emergency": rng.random(count) < 0.25 + 0.11 * severity,
            "severity": severity.astype(int),
        }
    )


def _by_date(stays: pd.DataFrame) -> pd.DataFrame:
    """The admissions ordered by date, the holdout rows left at the end."""
    known = stays.iloc[:_ADMISSIONS].sort_values("admitted", kind="stable")
    return pd.concat([known, stays.iloc[_ADMISSIONS:]], ignore_index=True)


def _days(rng: np.random.Generator, peak: np.ndarray) -> np.ndarray:
    """A day of the year for each stay, more often in winter the higher its ward's ``peak``."""
    days = rng.integers(0, 366, len(peak))
    winter = (1 + np.cos(2 * np.pi * (days - 20) / 366)) / 2
    again = rng.random(len(peak)) > (1 - peak) + peak * winter
    days[again] = (rng.normal(20, 35, int(again.sum())) % 366).astype(int)
    return days.astype("timedelta64[D]")


def _admissions(stays: pd.DataFrame) -> pd.DataFrame:
    admitted = stays["admitted"].to_numpy().astype("datetime64[D]")
    left = admitted + stays["nights"].to_numpy().astype("timedelta64[D]")
    discharged = np.datetime_as_string(left).astype(object)
    discharged[left > _LAST] = None
    table = stays.drop(columns="nights").assign(
        admitted=np.datetime_as_string(admitted), discharged=discharged, admission_id=np.arange(len(stays)) + _FIRST_ID
    )
    columns = [
        "admission_id", "patient_id", "ward", "diagnosis", "admitted", "discharged", "emergency", "severity",
    ]  # fmt: skip
    return table[columns]


def _bills(rng: np.random.Generator, stays: pd.DataFrame) -> pd.DataFrame:
    """Euros per item for each stay; 0 is no such item."""
    count = len(stays)
    severity, nights = stays["severity"].to_numpy(), stays["nights"].to_numpy()
    price = np.array([_WARDS[ward][4] for ward in stays["ward"]])
    operated = rng.random(count) < np.array([_OPERATED.get(code, 0.05) for code in stays["diagnosis"]])
    tested = rng.random(count) < 0.55 + 0.25 * stays["emergency"].to_numpy()
    bills = pd.DataFrame(
        {
            "bed": (nights + 1) * price * rng.normal(1, 0.03, count),
            "drugs": (rng.random(count) < 0.82) * 70 * severity**1.5 * rng.lognormal(0, 0.6, count),
            "tests": tested * (120 + 90 * severity) * rng.lognormal(0, 0.45, count),
            "surgery": operated * (1700 + 500 * severity) * rng.lognormal(0, 0.25, count),
        }
    )
    return bills.round(2)


def _costs(rng: np.random.Generator, bills: pd.DataFrame) -> pd.DataFrame:
    lines = bills.stack().rename("amount").rename_axis(["admission_id", "item"]).reset_index()
    lines["admission_id"] += _FIRST_ID
    lines = lines[lines["amount"] > 0].reset_index(drop=True)
    lines.loc[rng.random(len(lines)) < 0.025, "amount"] = np.nan
    return lines


def _holdout(stays: pd.DataFrame, bills: pd.DataFrame) -> pd.DataFrame:
    known = stays[["ward", "nights", "emergency", "severity"]]
    return pd.concat([known, bills], axis=1).reset_index(drop=True)


DOMAIN = Domain(
    name="clinic",
    title="Hospital stays and what they cost",
    about=ABOUT,
    source="generated by this module with numpy's default_rng(variant)",
    licence="Apache-2.0",
    tables=tables,
)
