"""A small domain for tests; its dialogue is in ``shop/``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.domains import Domain

FOLDER = Path(__file__).parent / "shop"
TOWNS = ["Bath", "Cork", "Dover", "Exeter"]


def tables(variant: int) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(variant)
    towns = pd.Series(rng.choice(TOWNS, 400, p=rng.permutation([0.4, 0.3, 0.2, 0.1])))
    price = rng.gamma(2.0, 10.0, 400) + towns.map({"Bath": 0, "Cork": 4, "Dover": 8, "Exeter": 20})
    sales = pd.DataFrame({"town": towns, "price": price.round(2), "units": rng.integers(1, 9, 400)})
    return {"sales": sales, "holdout_sales": sales.sample(40, random_state=variant)}


DOMAIN = Domain("shop", "A shop", "sales: town, price in euros, units.", "generated", "Apache-2.0", tables, variants=8)
DOMAINS = {"shop": DOMAIN}
