"""Data for notebooks, drawn by a seed, and what is right to do with them."""

from __future__ import annotations

import csv as csv_module
import io
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

Row = list[Any]
REGIONS = ("North", "South", "East", "West")
PRODUCTS = ("Lamp", "Desk", "Chair", "Shelf", "Rug")
CITIES = ("Bergen", "Cork", "Graz", "Lyon", "Porto")
CUSTOMERS = ("Ada", "Boris", "Chloe", "Dmitri", "Elena", "Farid", "Greta", "Hugo")


def orders(seed: int, rows: int = 24) -> list[Row]:
    """Orders: a header (order, region, product, customer, units, price) and so many rows."""
    draw = random.Random(seed)
    body = [
        [
            2001 + k, draw.choice(REGIONS), draw.choice(PRODUCTS), draw.choice(CUSTOMERS), draw.randint(1, 9),
            draw.randint(20, 198) / 2,
        ]
        for k in range(rows)
    ]  # fmt: skip
    return [["order", "region", "product", "customer", "units", "price"], *body]


def dirty(seed: int, rows: int = 24) -> list[Row]:
    """Orders with faults: some twice, some without units, spaces and wrong capitals in regions, a $ before prices."""
    draw = random.Random(f"dirty {seed}")
    header, *body = orders(seed, rows)
    for row in body:
        row[1] = " " * draw.randint(0, 2) + draw.choice((str.upper, str.lower, str.title))(row[1])
        row[5] = f"${row[5]:.2f}" if draw.random() < 0.5 else row[5]
    for row in draw.sample(body, 4):
        row[4] = ""
    twice = [list(row) for row in draw.sample(body, 3)]
    for row in twice:
        body.insert(draw.randint(0, len(body)), row)
    return [header, *body]


def tidy(table: list[Row]) -> list[Row]:
    """Dirty orders made right: each once, those without units left out, regions as words, prices as numbers."""
    header, *body = table
    kept: dict[Any, Row] = {}
    for order, region, product, customer, units, price in body:
        if units != "" and order not in kept:
            number = float(str(price).lstrip("$"))
            kept[order] = [order, region.strip().title(), product, customer, units, number]
    return [header, *kept.values()]


def csv(table: list[Row]) -> str:
    """A table as the text of a CSV file."""
    text = io.StringIO()
    csv_module.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def totals(table: list[Row], by: str, of: str, at_least: int = 0) -> list[Row]:
    """A header and, in alphabetical order, each value of a column with the sum of another; small sums are left out."""
    key, value = table[0].index(by), table[0].index(of)
    sums: dict[Any, float] = {}
    for row in table[1:]:
        sums[row[key]] = sums.get(row[key], 0) + row[value]
    return [[by, of], *([name, sums[name]] for name in sorted(sums) if sums[name] >= at_least)]


def revenue(table: list[Row], by: str, at_least: int) -> list[Row]:
    """A header and, in alphabetical order, each value of a column with the units times prices of its large orders."""
    units, price = table[0].index("units"), table[0].index("price")
    worth = [[*row, row[units] * row[price]] for row in table[1:] if row[units] >= at_least]
    return totals([[*table[0], "revenue"], *worth], by, "revenue")


def bars(table: list[Row], by: str, what: str) -> list[Row]:
    """Each value of a column, in alphabetical order, with the sum of its ``units`` or the number of its ``orders``."""
    counted = [[*table[0], "orders"], *([*row, 1] for row in table[1:])]
    return totals(counted, by, what)[1:]


def worth(table: list[Row], at_least: int) -> float:
    """The sum of units times price over orders with at least so many units."""
    units, price = table[0].index("units"), table[0].index("price")
    return float(sum(row[units] * row[price] for row in table[1:] if row[units] >= at_least))


def customers(seed: int) -> list[Row]:
    """Customers: a header (name, city), and each customer of the orders with a city."""
    draw = random.Random(f"customers {seed}")
    return [["name", "city"], *([name, draw.choice(CITIES)] for name in CUSTOMERS)]


def cities(orders: list[Row], customers: list[Row], at_least: int) -> list[Row]:
    """A header and, in alphabetical order, each city with the units of its customers, if they are enough."""
    city = dict(customers[1:])
    return totals([["city", "units"], *([city[row[3]], row[4]] for row in orders[1:])], "city", "units", at_least)


def postage(base: int, step: int, free: int, weights: list[float]) -> list[int]:
    """What parcels cost: the base price, and a step for each started kilogram above the free ones."""
    return [base + step * max(0, math.ceil(weight) - free) for weight in weights]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"jupyterlab.{function.__name__}": function
    for function in (orders, dirty, tidy, csv, totals, revenue, bars, worth, customers, cities, postage)
}
"""By the names that task files use."""
